#!/usr/bin/env bash
# Builds the Debian packages fairlock-server and fairlock-tools into build/package.
#
#   deploy/package.sh [VERSION]    default: the version of the project
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/install-packages.sh build package

if [ ! -f build/release/build.ninja ]; then
  cmake --preset release -DFAIRLOCK_TESTS=OFF -DFAIRLOCK_BENCH=OFF
fi
cmake --build build/release --target package_files
cd build/release
cpack -B "$PWD/../package" ${1:+-D CPACK_PACKAGE_VERSION="$1"} >cpack.log || {
  cat cpack.log >&2
  exit 1
}
ls "$PWD"/../package/*.deb
