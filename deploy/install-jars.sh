#!/usr/bin/env bash
# Installs the jars that each pom.xml in these folders names, in the folder jars next to that file;
# prints nothing if they are already installed. Exits with 77 if there is no Java or no Maven.
#
#   deploy/install-jars.sh [FOLDER]    a folder of the tree; default: all of them
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# = 0 ]; then
  exec deploy/install-jars.sh tests/clients/redisson
fi
cd "$1"

if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then
  echo "The tests of $1 are skipped: they need Java 17 and Maven." >&2
  exit 77
fi

# Tests of two presets may run at once, but only one of them may install at a time.
exec 9<.
flock 9
[ jars/complete -nt pom.xml ] && exit 0

echo "Installing the jars of $1"
rm -rf jars
if ! mvn -q -B dependency:copy-dependencies -DoutputDirectory=jars </dev/null >&2; then
  echo "The jars of $1 are not installed, so its tests are skipped. Maven needs a network." >&2
  exit 77
fi
touch jars/complete
