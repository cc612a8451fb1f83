#!/usr/bin/env bash
# deploy/run.sh configures on machines without python3; deploy/package.sh then builds packages in
# that build folder. Its target must therefore exist without python3.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cmake --preset release -B "$build" -DFAIRLOCK_TESTS=OFF -DFAIRLOCK_BENCH=OFF \
  -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON >/dev/null
cmake --build "$build" --target help | grep '^package_files:' || {
  echo "no target package_files"
  exit 1
}
