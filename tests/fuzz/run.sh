#!/usr/bin/env bash
# Searches for inputs that break a fuzz target.
#
#   tests/fuzz/run.sh TARGET [SECONDS]    0 or none: until stopped, or until it finds one
#   tests/fuzz/run.sh --keep TARGET       adds new inputs that matter to tests/fuzz/corpus/TARGET
#   tests/fuzz/run.sh --list              lists the targets
#
# Inputs are collected in build/fuzz/corpus/TARGET, those that break it in build/fuzz/findings; the
# end of the output is in build/fuzz/TARGET.log. OPTIONS="-max_len=500 ..." passes options to
# libFuzzer. Runs one target at a time, at a low priority, to leave the machine usable.
set -euo pipefail
cd "$(dirname "$0")/../.."

Targets() { basename -a -s _fuzz.cc tests/fuzz/*_fuzz.cc; }

is_to_keep=
if [ "${1:-}" = --list ]; then
  Targets
  exit
elif [ "${1:-}" = --keep ]; then
  is_to_keep=1
  shift
fi
target=${1:-}
if [ ! -f "tests/fuzz/${target}_fuzz.cc" ]; then
  echo "target must be one of $(Targets | tr '\n' ' '), got '$target'" >&2
  exit 2
fi

[ -f build/fuzz/build.ninja ] || cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target "${target}_fuzz" -- -j "${JOBS:-2}"
corpus=build/fuzz/corpus/$target
findings=build/fuzz/findings
kept=tests/fuzz/corpus/$target
mkdir -p "$corpus" "$findings" "$kept"
program=(nice -n 10 "build/fuzz/bin/${target}_fuzz" -timeout=20 -rss_limit_mb=3000)

if [ -n "$is_to_keep" ]; then
  exec "${program[@]}" -set_cover_merge=1 -use_counters=0 "$kept" "$corpus"
fi
# A large quarantine of freed memory costs more time than everything else.
export ASAN_OPTIONS=quarantine_size_mb=16:${ASAN_OPTIONS:-}
dictionary=tests/fuzz/dictionaries/$target.dict
[ ! -f "$dictionary" ] || program+=("-dict=$dictionary")
# shellcheck disable=SC2086  # several options
"${program[@]}" -max_total_time="${2:-0}" -print_final_stats=1 \
  -artifact_prefix="$findings/$target-" ${OPTIONS:-} "$corpus" "$kept" 2>&1 |
  tee "build/fuzz/$target.log"
