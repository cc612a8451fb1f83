#!/usr/bin/env bash
# Builds programs twice from copies of this tree in two folders, and compares them byte for byte.
#
#   deploy/check_reproducible.sh [PROGRAM...]    default: fairlockctl
#
# Bypasses compiler caches. Prints "the same" and a checksum for each program, or exits with 1.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- fairlockctl
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
for copy in here some/where/else; do
  mkdir -p "$copies/$copy"
  git ls-files -z --cached --others --exclude-standard |
    xargs -0 cp --parents -t "$copies/$copy"
  (
    cd "$copies/$copy"
    export CCACHE_DISABLE=1
    cmake --preset release -DFAIRLOCK_TESTS=OFF -DFAIRLOCK_BENCH=OFF >/dev/null
    cmake --build build/release --target "$@" -- -j "${JOBS:-$(nproc)}" >/dev/null
  )
done
status=0
first=$copies/here/build/release/bin
second=$copies/some/where/else/build/release/bin
for program in "$@"; do
  if cmp "$first/$program" "$second/$program"; then
    echo "the same: $(sha256sum <"$first/$program" | cut -d' ' -f1) $program"
  else
    status=1
  fi
done
exit $status
