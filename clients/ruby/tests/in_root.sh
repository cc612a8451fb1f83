#!/usr/bin/env bash
# Runs tests of the gem, or of its parts for applications, on the Ruby, the redis gem and the
# Sidekiq of another suite of Debian: in a root that debootstrap makes the first time.
#
#   clients/ruby/tests/in_root.sh SUITE [TEST...]    for example: trixie rules_test middleware_test
#
# FAIRLOCKD is the server, which runs outside of the root. ROOTS is the folder of the roots, by
# default build/roots. Needs root, and debootstrap. Exits with 77 if the root cannot be made.
set -euo pipefail
tree=$(cd "$(dirname "$0")/../../.." && pwd)
suite=$1
shift
root=${ROOTS:-$tree/build/roots}/$suite
export FAIRLOCKD=${FAIRLOCKD:-$tree/build/release/bin/fairlockd}
[ $# -gt 0 ] || set -- rules_test lock_test channel_test hold_state_test middleware_test

if [ ! -e "$root/made" ]; then
  mirror=$(sed -n 's/^URIs: //p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
  packages=ruby,ruby-redis,ruby-redis-client,ruby-sidekiq,ruby-rack,ruby-minitest,redis-server
  mkdir -p "$root"
  if ! debootstrap --variant=minbase "$suite" "$root" "${mirror:-http://deb.debian.org/debian}" \
      >"$root.log" 2>&1 ||
    ! chroot "$root" sh -c "apt-get update -qq -o Acquire::Check-Valid-Until=false &&
      DEBIAN_FRONTEND=noninteractive apt-get \
      install -y -qq --no-install-recommends ${packages//,/ }" >>"$root.log" 2>&1; then
    echo "skipped: the root of $suite could not be made: $(tail -n 1 "$root.log")"
    exit 77
  fi
  touch "$root/made"
fi

# Version 5 of the redis gem connects to localhost by name.
[ -e "$root/etc/hosts" ] || echo "127.0.0.1 localhost" >"$root/etc/hosts"

# Inside, the tree, the temporary files and the server's own root have the same paths as outside.
mounted=()
End() { for place in "${mounted[@]}"; do umount "$place"; done; }
trap End EXIT
for place in "$tree:$tree" /tmp:/tmp /:/outside; do
  mkdir -p "$root${place#*:}"
  mount --bind "${place%:*}" "$root${place#*:}"
  mounted=("$root${place#*:}" "${mounted[@]}")
done
cat >"$root/usr/local/bin/fairlockd" <<END
#!/bin/sh
exec chroot /outside sh -c 'cd "\$0" && exec "\$@"' "\$PWD" "$FAIRLOCKD" "\$@"
END
chmod +x "$root/usr/local/bin/fairlockd"

status=0
for test in "$@"; do
  file=$(find "$tree/clients/ruby/tests" "$tree/tests/clients" -name "$test.rb" | head -n 1)
  /usr/bin/python3 -B "$tree/tests/clients/with_own_server.py" --redis \
    chroot "$root" env FAIRLOCKD=/usr/local/bin/fairlockd ruby -W0 "$file" || status=1
done
exit $status
