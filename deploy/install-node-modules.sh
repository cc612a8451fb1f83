#!/usr/bin/env bash
# Installs the JavaScript clients that tests/clients/node/package-lock.json names, beside that file;
# says nothing when they are there.
set -euo pipefail
cd "$(dirname "$0")/../tests/clients/node"

# Two presets may be tested at once.
exec 9<.
flock 9
# What npm writes last.
[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing the JavaScript clients of the tests"
if ! npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier >"$log" 2>&1 </dev/null; then
  echo "npm ci said:" >&2
  head -n 20 "$log" >&2
  printf '%s\n' "The JavaScript clients of the tests are not installed, so their tests fail." \
    "npm needs a network that reaches its registry: $(npm config get registry 2>/dev/null)" >&2
  exit 1
fi
