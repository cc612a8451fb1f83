#!/usr/bin/env bash
# Measures speed, delays and sizes, prints each figure with its bar from bars.txt, and exits with 1
# if a bar is missed. Run it before a release, on a machine that does nothing else.
#
#     bench/figures.sh [--full] [--build DIR] [SECTION...]
#
#     SECTION    one of compare.sh, or simulation, unique_jobs, faults or delays; default: all
#     --full     more and longer rounds, against the promises instead of the wider bars of the quick
#                form; an hour instead of a quarter
#     --build    a build of the preset release with its tests; default: build/release
#
# Other programs on the machine may spoil a measurement: a section that misses a bar is measured
# again, up to three times, and the last attempt counts.
set -euo pipefail
cd "$(dirname "$0")/.."

form=--quick
build=build/release
sections=()
while [ $# -gt 0 ]; do
  case $1 in
    --full) form=--full ;;
    --build) build=${2:?--build needs a folder} && shift ;;
    -*) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2 && exit 2 ;;
    *) sections+=("$1") ;;
  esac
  shift
done
[ ${#sections[@]} -gt 0 ] || sections=(cpu redis_way script tls durable contended memory expiry idle
  waiters engine simulation unique_jobs faults delays)
[ -x "$build/bin/fairlock_load" ] || {
  echo "$build/bin has no fairlock_load; build the preset release first" >&2
  exit 2
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=$work/results
# The programs below append a line `name value` to this file for each figure.
export FAIRLOCK_FIGURES=$results
FAIRLOCKD=$(realpath "$build/bin/fairlockd")
FAIRLOCK_LOAD=$(realpath "$build/bin/fairlock_load")
export FAIRLOCKD FAIRLOCK_LOAD

# Measure SECTION: prints what it measures, and writes the figures.
Measure() {
  local quick=() seconds=10
  [ "$form" = --full ] || { quick=(--quick) && seconds=2; }
  case $1 in
    simulation)
      "$build/bin/fairlock_sim" --seeds 1..1000 | tee "$work/said"
      sed -n 's|.* \([0-9]*\) steps/s,.*|simulation.steps_per_second \1|p' "$work/said" >>"$results"
      ;;
    unique_jobs)
      /usr/bin/python3 -B tests/clients/with_own_server.py --redis \
        /usr/bin/ruby tests/clients/unique_jobs/benchmark.rb "${quick[@]}"
      ;;
    faults) /usr/bin/python3 -B tests/faults/measured.py --seconds $seconds ;;
    # The tests that measure what others notice; without FAIRLOCK_FIGURES they compare nothing.
    delays) ctest --test-dir "$build" -L measured -j 1 --output-on-failure ;;
    *) bench/compare.sh --section "$1" --build "$build" --results "$results" "${quick[@]}" ;;
  esac
}

# Compare SECTION: prints its figures with their bars; fails if one is missed or missing. A figure
# that was written more than once counts with its worst value.
Compare() {
  awk -v section="$1" -v column="$([ "$form" = --full ] && echo 3 || echo 4)" '
    FNR == NR {
      if (!($1 in least) || $2 < least[$1]) least[$1] = $2 + 0
      if (!($1 in most) || $2 > most[$1]) most[$1] = $2 + 0
      next
    }
    index($1, section ".") != 1 || $column == "-" { next }
    {
      ++bars
      is_there = $1 in most
      value = $2 == "<=" ? most[$1] : least[$1]
      is_kept = is_there && ($2 == "<=" ? value <= $column : value >= $column)
      printf "%-46s %12s  %s %-8s %s\n", $1, is_there ? value : "missing", $2, $column,
             is_kept ? "" : "NOT KEPT"
      if (!is_kept) ++missed
    }
    END {
      if (bars == 0) print section, "has no bars: NOT KEPT"
      exit (missed > 0 || bars == 0)
    }
  ' "$results" bench/bars.txt
}

missed=()
for section in "${sections[@]}"; do
  for attempt in 1 2 3; do
    : >"$results"
    echo "--- $section, attempt $attempt"
    Measure "$section" || echo "$section could not be measured" >&2
    Compare "$section" >"$work/table" && break
    cat "$work/table"
  done
  cat "$work/table" >>"$work/tables"
  ! grep -q 'NOT KEPT' "$work/table" || missed+=("$section")
done
echo "--- all figures"
cat "$work/tables"
if [ ${#missed[@]} -gt 0 ]; then
  echo "bars are missed in: ${missed[*]}"
  exit 1
fi
echo "all bars are kept"
