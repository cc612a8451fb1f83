#!/usr/bin/env bash
# Installs the missing Debian packages of the named sets; prints nothing if none is missing.
#
#   deploy/install-packages.sh SET...    a set is a file deploy/packages/SET.txt
set -euo pipefail
cd "$(dirname "$0")/packages"

Fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# The names that installed packages provide besides their own: npm, for example, may be part of
# nodejs.
provided=" $(dpkg-query -W -f='${Provides}\n' 2>/dev/null | sed 's/([^)]*)//g' | tr -s ',\n' ' ') "

IsInstalled() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ||
    [[ $provided == *" $1 "* ]]
}

for set in "$@"; do
  [ -f "$set.txt" ] || Fail "There is no set '$set' of packages. There are:" *.txt
done
wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "${@/%/.txt}" | sort -u)
missing=()
if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  for package in $wanted; do
    IsInstalled "$package" || missing+=("$package")
  done
else
  Fail "This is not a Debian system: there is no apt-get or no dpkg-query." \
    "fairlock is built on Debian 12 with these packages:" "$wanted"
fi
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || Fail "Missing packages: ${missing[*]}" \
    "Run this as root, or install sudo, or let somebody run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
AptGet() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null
}

echo "Installing ${missing[*]}"
# An unreachable package source may not be needed, so only the installation may fail.
AptGet update || true
if ! AptGet install --no-install-recommends "${missing[@]}"; then
  echo "apt-get said:" >&2
  grep -E '^(E|W|Err)[: ]' "$log" >&2 || tail -n 20 "$log" >&2
  for package in "${missing[@]}"; do
    IsInstalled "$package" || echo "not installed: $package" >&2
  done
  Fail "Some packages could not be installed. fairlock needs Debian 12 (bookworm), its main" \
    "repository in the sources of apt, and a network that reaches it."
fi
