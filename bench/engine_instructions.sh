#!/usr/bin/env bash
# Prints how many instructions the engine executes for one step of each operation, under callgrind.
#
#   bench/engine_instructions.sh [BUILD_DIR]    build/release when none is named
#
# A step is what the operation's name says: a LOCK with its UNLOCK, one RENEW, a hand-over with the
# joining of the one who released; "recorded" is with history and statistics, as in the server by
# default. Two runs of different length are subtracted, so starting up and
# setting up do not count. The same binary gives the same numbers on every machine and under any
# load: this is how to see whether a change made the core slower (5 % is the limit).
set -euo pipefail
cd "$(dirname "$0")/.."

work=${1:-build/release}/bin/fairlock_engine_work
few=20000
many=60000

command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 2; }
[ -x "$work" ] || { echo "$work is not there; build it first" >&2; exit 2; }

# Instructions OPERATION COUNT: of the whole process.
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
