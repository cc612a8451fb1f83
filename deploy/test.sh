#!/usr/bin/env bash
# Installs missing packages, builds everything and runs every test.
#
#   deploy/test.sh [PRESET...]    default: release
#   deploy/test.sh --prepare      only installs packages and configures the preset release
#
# Ends with the names of failed tests, and the line "N passed, N failed"; exits with 1 if a test
# failed or nothing could be built. Speed is no test: bench/figures.sh measures it.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "${1:-}" = --prepare ] ||
  echo "This builds everything and runs every test. It takes about half an hour with two" \
    "processors, longer beside other work, and as long again for each sanitizer."
deploy/install-packages.sh build run test
deploy/install-node-modules.sh || true
deploy/install-jars.sh || true
deploy/build-java-client.sh || true
deploy/install-go-modules.sh || true
deploy/install-etcd.sh || true
deploy/install-helm.sh || true

if [ "${1:-}" = --prepare ]; then
  exec cmake --preset release -DFAIRLOCK_TESTS=ON -DFAIRLOCK_BENCH=ON
fi

passed=0
failed=0
skipped=0

# Count WORDS FILE: prints how many test cases have these words in ctest's output from one run.
Count() { grep -c "<testcase .*$1" "$2" || true; }

# AddResults FILE [AGAIN]: adds the results of one run; AGAIN means a run of the tests that failed
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

# Failed FILE: prints the tests that failed in that run.
Failed() {
  sed -n 's/.*<testcase name="\([^"]*\)".*status="fail".*/\1/p' "$1"
}

# NameFailed PRESET FILE AGAIN: prints the tests that failed; those that passed in the second run,
# AGAIN, are named too.
NameFailed() {
  local name
  while read -r name; do
    if [ -f "$3" ] && ! Failed "$3" | grep -qxF "$name"; then
      echo "failed in $1 at first, and passed alone: $name"
    else
      echo "failed in $1: $name"
    fi
  done < <(Failed "$2")
}

# TestPreset PRESET: builds everything with the preset and runs its tests; fails if a test fails.
TestPreset() {
  local results=$PWD/build/$1/results.xml again=$PWD/build/$1/again.xml status=0 bench=ON
  rm -f "$results" "$again"
  # Under a sanitizer there is nothing to count.
  [ "$1" = release ] || bench=OFF
  if ! cmake --preset "$1" -DFAIRLOCK_TESTS=ON "-DFAIRLOCK_BENCH=$bench" ||
    ! cmake --build --preset "$1"; then
    echo "could not be built: $1" >>"$failures"
    return 1
  fi
  # Most tests wait for a server more than they compute.
  if ! ctest --preset "$1" -j "$((2 * $(nproc)))" --output-junit "$results"; then
    # Some tests wait for a server for a bounded time, which may be too short on a loaded machine.
    echo "The tests that failed run once more, one at a time. A test that passes now is not steady:"
    ctest --preset "$1" --rerun-failed -j 1 --output-junit "$again" || status=1
  fi
  AddResults "$results" "$again"
  NameFailed "$1" "$results" "$again" >>"$failures"
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
