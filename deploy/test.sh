#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test.
#
#   deploy/test.sh [PRESET...]    release when none is named; asan and tsan leave out the figures
#
# Ends with the line "N passed, N failed", and with 1 if a test failed or nothing could be built.
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/install-packages.sh build run test
deploy/install-node-modules.sh || true

passed=0
failed=0
skipped=0

# AddResults FILE: adds up what ctest wrote about one run.
AddResults() {
  local tests run fail
  tests=$(grep -c '<testcase ' "$1" || true)
  run=$(grep -c '<testcase .* status="run"' "$1" || true)
  fail=$(grep -c '<testcase .* status="fail"' "$1" || true)
  passed=$((passed + run))
  failed=$((failed + fail))
  skipped=$((skipped + tests - run - fail))
}

# TestPreset PRESET: builds all of it and runs its tests; fails if one did.
TestPreset() {
  local results=$PWD/build/$1/results.xml status=0
  rm -f "$results"
  cmake --preset "$1" -DFAIRLOCK_TESTS=ON -DFAIRLOCK_BENCH=ON || return 1
  cmake --build --preset "$1" || return 1
  ctest --preset "$1" -LE figures -j "$(nproc)" --output-junit "$results" || status=1
  AddResults "$results"
  [ "$1" = release ] || return $status
  # Measured bars, one at a time. Other programs on the machine may spoil a measurement, so a bar
  # counts as missed when it is missed three times in a row.
  ctest --preset "$1" -L figures --repeat until-pass:3 --output-junit "$results" || status=1
  AddResults "$results"
  return $status
}

[ $# -gt 0 ] || set -- release
status=0
for preset in "$@"; do
  TestPreset "$preset" || status=1
done
echo "$passed passed, $failed failed$([ $skipped = 0 ] || echo ", $skipped skipped")"
exit $status
