#!/usr/bin/env bash
# Installs the JavaScript packages that each package-lock.json in these folders names, next to that
# file; prints nothing if they are already installed.
#
#   deploy/install-node-modules.sh [FOLDER]    a folder of the tree; default: all of them
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# = 0 ]; then
  for folder in clients/node tests/clients/node tests/dashboard; do
    deploy/install-node-modules.sh "$folder"
  done
  exit
fi
cd "$1"

# npm would empty the folder that the link names.
if [ -L node_modules ]; then
  echo "$1/node_modules is a symbolic link; remove it, and the packages are installed there" >&2
  exit 1
fi

# Tests of two presets may run at once, but only one of them may install at a time.
exec 9<.
flock 9
# npm writes this file last.
[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing the JavaScript of $1"
if ! npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier >"$log" 2>&1 </dev/null; then
  echo "npm ci said:" >&2
  head -n 20 "$log" >&2
  printf '%s\n' "The JavaScript of $1 is not installed, so its tests fail." \
    "npm needs a network that reaches its registry: $(npm config get registry 2>/dev/null)" >&2
  exit 1
fi
