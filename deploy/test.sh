#!/usr/bin/env bash
# Installs missing packages, builds everything and runs every test.
#
#   deploy/test.sh [PRESET...]    default: release; asan and tsan leave out the figures
#   deploy/test.sh --prepare      only installs packages and configures the preset release
#
# Ends with the names of failed tests and missed bars, and the line "N passed, N failed"; exits with
# 1 if a test failed or nothing could be built.
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/install-packages.sh build run test
deploy/install-node-modules.sh || true

if [ "${1:-}" = --prepare ]; then
  exec cmake --preset release -DFAIRLOCK_TESTS=ON -DFAIRLOCK_BENCH=ON
fi

passed=0
failed=0
skipped=0

# Count WORDS FILE: prints how many test cases have these words in ctest's output from one run.
Count() { grep -c "<testcase .*$1" "$2" || true; }

# AddResults FILE [AGAIN]: adds the results of one run; AGAIN: a run of the tests that failed
# before.
AddResults() {
  local run fail
  run=$(Count 'status="run"' "$1")
  fail=$(Count 'status="fail"' "$1")
  skipped=$((skipped + $(Count '' "$1") - run - fail))
  if [ -f "${2:-}" ]; then
    run=$((run + $(Count 'status="run"' "$2")))
    fail=$(Count 'status="fail"' "$2")
  fi
  passed=$((passed + run))
  failed=$((failed + fail))
}

# Failed PRESET FILE...: prints the tests that failed in the last of these runs that took place.
Failed() {
  local preset=$1 file last=
  shift
  for file in "$@"; do
    [ ! -f "$file" ] || last=$file
  done
  [ -n "$last" ] || return 0
  sed -n 's/.*<testcase name="\([^"]*\)".*status="fail".*/\1/p' "$last" |
    sed "s/^/failed in $preset: /"
  sed -n "s/\(.*\) NOT KEPT.*/missed in $preset: \1/p" "$last"
}

# TestPreset PRESET: builds everything with the preset and runs its tests; fails if a test fails.
TestPreset() {
  local results=$PWD/build/$1/results.xml again=$PWD/build/$1/again.xml status=0 bench=ON
  rm -f "$results" "$again"
  # Nothing is measured under a sanitizer.
  [ "$1" = release ] || bench=OFF
  if ! cmake --preset "$1" -DFAIRLOCK_TESTS=ON "-DFAIRLOCK_BENCH=$bench" ||
    ! cmake --build --preset "$1"; then
    echo "could not be built: $1" >>"$failures"
    return 1
  fi
  # Most tests wait for a server more than they compute.
  if ! ctest --preset "$1" -LE figures -j "$(($(nproc) + 1))" --output-junit "$results"; then
    # Some tests wait for a server for a bounded time, which may be too short on a loaded machine.
    echo "Those that failed run once more, one at a time. Who passes now is not steady:"
    ctest --preset "$1" --rerun-failed -j 1 --output-junit "$again" || status=1
  fi
  AddResults "$results" "$again"
  Failed "$1" "$results" "$again" >>"$failures"
  [ "$1" = release ] || return $status
  # Performance bars, one at a time. Other programs on the machine may spoil a measurement, so a bar
  # counts as missed when it is missed three times in a row.
  ctest --preset "$1" -L figures --repeat until-pass:3 --output-junit "$results" || status=1
  AddResults "$results"
  Failed "$1" "$results" >>"$failures"
  return $status
}

[ $# -gt 0 ] || set -- release
status=0
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT
for preset in "$@"; do
  TestPreset "$preset" || status=1
done
cat "$failures"
echo "$passed passed, $failed failed$([ $skipped = 0 ] || echo ", $skipped skipped")"
exit $status
