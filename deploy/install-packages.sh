#!/usr/bin/env bash
# Installs the missing Debian packages of the named sets; prints nothing if none is missing.
#
#   deploy/install-packages.sh SET...    a set is a file deploy/packages/SET.txt
#
# A line of a set is a package, or alternatives for different releases of Debian: "a | b" is the
# first of them that is installed or, if none is, the first that can be.
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

# FirstThatCanBe PACKAGE...: prints the first that apt can install; the last, if none can be. apt
# knows packages that it cannot install, and exits with 0 for these, too.
FirstThatCanBe() {
  local package
  for package in "$@"; do
    if apt-cache show "$package" 2>/dev/null | grep ^Package: >/dev/null; then break; fi
  done
  echo "$package"
}

for set in "$@"; do
  [ -f "$set.txt" ] || Fail "There is no set '$set' of packages. There are:" *.txt
done
wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "${@/%/.txt}" | sort -u)
# Prints the lines of which no package is installed.
missing_lines=()
if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  while read -r line; do
    is_missing=yes
    for package in ${line//|/ }; do
      IsInstalled "$package" && is_missing=
    done
    [ -z "$is_missing" ] || missing_lines+=("$line")
  done <<<"$wanted"
else
  Fail "This is not a Debian system: there is no apt-get or no dpkg-query." \
    "fairlock is built on Debian 12 or 13 with these packages:" "$wanted"
fi
[ ${#missing_lines[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || Fail "Missing packages:" "${missing_lines[@]}" \
    "Run this as root, or install sudo, or let somebody install them with apt-get."
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
AptGet() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null
}

# An unreachable package source may not be needed, so only the installation may fail.
AptGet update || true
missing=()
for line in "${missing_lines[@]}"; do
  missing+=("$(FirstThatCanBe ${line//|/ })")
done
echo "Installing ${missing[*]}"
if ! AptGet install --no-install-recommends "${missing[@]}"; then
  echo "apt-get said:" >&2
  grep -E '^(E|W|Err)[: ]' "$log" >&2 || tail -n 20 "$log" >&2
  for package in "${missing[@]}"; do
    IsInstalled "$package" || echo "not installed: $package" >&2
  done
  Fail "Some packages could not be installed. fairlock needs Debian 12 (bookworm) or 13 (trixie)," \
    "its main repository in the sources of apt, and a network that reaches it."
fi
