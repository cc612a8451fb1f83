#!/usr/bin/env bash
# Measures which lines and branches of the engine, the protocol and the commands are reached by
# tests that need no server: unit tests, scenarios in virtual time, the simulator, replayed fuzz
# inputs.
#
#   tests/coverage.sh [FOLDER]    FOLDER gets the report, as HTML pages (build/coverage/report)
#
# Needs gcovr (Debian: gcovr). Assertions and branches that only an exception would take are not
# counted. Prints a table, and exits with 1 if coverage is below the bars below.
set -euo pipefail
cd "$(dirname "$0")/.."

report=${1:-build/coverage/report}
programs=(unit_protocol unit_engine unit_access unit_record unit_script unit_command unit_persist
  fairlock_scenarios fairlock_sim request_parser_replay reply_parser_replay arguments_replay
  connection_replay)
[ -f build/coverage/build.ninja ] || cmake --preset coverage >/dev/null
cmake --build --preset coverage --target "${programs[@]}" -- -j "${JOBS:-2}"
find build/coverage -name '*.gcda' -delete
bin=build/coverage/bin
log=build/coverage/coverage.log

for program in "${programs[@]}"; do
  case $program in
    fairlock_scenarios) "$bin/$program" tests/scenarios/*.scenario ;;
    fairlock_sim) "$bin/$program" --seeds "1..${SEEDS:-200}" --steps 1000 ;;
    *_replay) "$bin/$program" "tests/fuzz/corpus/${program%_replay}" ;;
    *) "$bin/$program" ;;
  esac >"$log" 2>&1 || {
    tail -20 "$log" >&2
    exit 1
  }
done

mkdir -p "$report"
status=0
# Bars: FOLDER LINES BRANCHES, in per cent; 0 means only shown.
Bars() {
  gcovr --root . --object-directory build/coverage --filter "$1/" --exclude-throw-branches \
    --exclude-unreachable-branches --exclude-branches-by-pattern '.*\bassert\(.*' \
    --fail-under-line "$2" --fail-under-branch "$3" --print-summary --txt "$report/summary.txt" \
    --html-details "$report/$(basename "$1").html" >"$log" 2>&1 || status=1
  printf '%-16s %s\n' "$1" "$(grep -E '^(lines|branches)' "$log" | tr '\n' ' ')"
  grep -E 'minimum|ERROR|error' "$log" || true
}
Bars protocol 95 0
Bars server/command 95 0
Bars server/engine 98 90
exit $status
