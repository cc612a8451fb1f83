#!/usr/bin/env bash
# Prints the path of a Go that is new enough for a go.mod: the first one in the PATH, or the one in
# /usr/local/go. If none is new enough, prints the version that is needed, and exits with 1.
#
#   deploy/find_go.sh GO_MOD
set -euo pipefail

needed=$(sed -n 's/^go //p' "${1:?Which go.mod? deploy/find_go.sh GO_MOD}")
for go in $(type -aP go) /usr/local/go/bin/go; do
  has=$("$go" env GOVERSION 2>/dev/null) || continue
  if [ "$(printf '%s\n' "${has#go}" "$needed" | sort -V | head -n 1)" = "$needed" ]; then
    echo "$go"
    exit 0
  fi
done
echo "$needed"
exit 1
