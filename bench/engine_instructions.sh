#!/usr/bin/env bash
# Prints how many instructions the engine executes for one step of each operation, under callgrind.
#
#     bench/engine_instructions.sh [BUILD_DIR]    default: build/release
#
# The name of the operation says what a step is: a LOCK with its UNLOCK, one RENEW, or a hand-over
# after which the former holder joins the queue. "recorded" means with history and statistics, as in
# the server by default. The result is the difference of two runs of different length, so start-up
# and set-up are excluded. The same binary gives the same numbers on every machine and under any
# load. Use it to see whether a change made the core slower (the limit is 5 %).
set -euo pipefail
cd "$(dirname "$0")/.."

work=${1:-build/release}/bin/fairlock_engine_work
few=20000
many=60000

command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 2; }
[ -x "$work" ] || { echo "$work is not there; build it first" >&2; exit 2; }

# Instructions OPERATION COUNT: prints the number for the whole process.
Instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$work" "$1" "$2" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

for operation in lock-unlock lock-unlock-recorded lock-unlock-among-held renew lock-denied \
  lock-denied-recorded hand-over-join; do
  first=$(Instructions "$operation" $few)
  second=$(Instructions "$operation" $many)
  printf '%-24s %6d instructions\n' "$operation" $(((second - first) / (many - few)))
done
