#!/usr/bin/env bash
# Builds the etcd of tests/etcd/go.mod as build/newest-etcd/etcd; prints nothing if it is there.
# Exits with 77 if there is no Go that is new enough, or its modules cannot be downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly kBuilt=build/newest-etcd/etcd
[ $kBuilt -nt tests/etcd/go.sum ] && exit 0

go=$(deploy/find_go.sh tests/etcd/go.mod) || {
  echo "The tests with the newest etcd are skipped: they need Go $go." >&2
  exit 77
}
echo "Building the newest etcd; this takes a few minutes"
mkdir -p "$(dirname $kBuilt)"
env -C tests/etcd GOWORK=off GOFLAGS=-mod=readonly GOTOOLCHAIN=local CGO_ENABLED=0 \
  "$go" build -trimpath -ldflags "-s -w" -o "$PWD/$kBuilt.new" . >&2 || {
  echo "The newest etcd is not built, so its tests are skipped. Go needs a network that reaches" \
    "its proxy: $("$go" env GOPROXY)" >&2
  exit 77
}
mv $kBuilt.new $kBuilt
