#!/usr/bin/env bash
# Installs the JavaScript that the package-lock.json of each of these folders names, beside that
# file; says nothing when it is there.
#
#   deploy/install-node-modules.sh [FOLDER]    below tests; all if none is given
set -euo pipefail
cd "$(dirname "$0")/../tests"

if [ $# = 0 ]; then
  "$PWD/../deploy/install-node-modules.sh" clients/node
  exec "$PWD/../deploy/install-node-modules.sh" dashboard
fi
cd "$1"

# Two presets may be tested at once.
exec 9<.
flock 9
# What npm writes last.
[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing the JavaScript of tests/$1"
if ! npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier >"$log" 2>&1 </dev/null; then
  echo "npm ci said:" >&2
  head -n 20 "$log" >&2
  printf '%s\n' "The JavaScript of tests/$1 is not installed, so its tests fail." \
    "npm needs a network that reaches its registry: $(npm config get registry 2>/dev/null)" >&2
  exit 1
fi
