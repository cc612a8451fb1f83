#!/usr/bin/env bash
# Downloads the Go modules that the Go client and its tests need; prints nothing if they are there.
#
# clients/go/go.mod has the oldest versions, for the Go of Debian 12, and tests/newest.mod beside it
# the newest, for the newest Go in the PATH or in /usr/local/go. If none is new enough, its
# test is skipped.
set -euo pipefail
cd "$(dirname "$0")/../clients/go"

# Download GO FILE
Download() {
  local log
  log=$(env GOWORK=off GOFLAGS= GOTOOLCHAIN=local "$1" mod download -modfile="$2" 2>&1) && return
  printf '%s\n' "The Go modules of $2 are not there, so tests that need them are skipped:" \
    "$(tail -n 3 <<<"$log")" "go needs a network that reaches its proxy: $("$1" env GOPROXY)" >&2
  return 1
}

status=0
Download /usr/bin/go go.mod || status=1
if go=$(../../deploy/find_go.sh tests/newest.mod); then
  Download "$go" tests/newest.mod || status=1
fi
exit $status
