#!/usr/bin/env bash
# Builds Helm, and a program that judges manifests as Kubernetes does, from tests/kubernetes/go.mod
# as build/kubernetes/helm and build/kubernetes/check; prints nothing if they are there. Exits with
# 77 if there is no Go that is new enough, or its modules cannot be downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly kFolder=build/kubernetes
readonly kModule=tests/kubernetes
[ $kFolder/check -nt $kModule/go.sum ] && [ $kFolder/check -nt $kModule/check/main.go ] && exit 0

go=$(deploy/find_go.sh $kModule/go.mod) || {
  echo "The tests of the Helm chart are skipped: they need Go $go." >&2
  exit 77
}
echo "Building Helm and a check of manifests; this takes several minutes"
mkdir -p $kFolder/new
env -C $kModule GOWORK=off GOFLAGS=-mod=readonly GOTOOLCHAIN=local CGO_ENABLED=0 \
  "$go" build -trimpath -ldflags "-s -w" -o "$PWD/$kFolder/new/" ./check \
  helm.sh/helm/v3/cmd/helm >&2 || {
  echo "Helm is not built, so the tests of the chart are skipped. Go needs a network that reaches" \
    "its proxy: $("$go" env GOPROXY)" >&2
  exit 77
}
mv $kFolder/new/helm $kFolder/new/check $kFolder
rmdir $kFolder/new
