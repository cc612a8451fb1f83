#!/usr/bin/env bash
# Runs tests of the library on the PHP, the phpredis, the Predis, the Symfony and the Laravel of
# another suite of Debian: in a root that debootstrap makes at the first time.
#
#   clients/php/tests/in_root.sh SUITE [TEST...]    for example: trixie lock_test symfony_test
#
# FAIRLOCKD is the server, which runs outside of the root. ROOTS is the folder of the roots, by
# default build/roots. Needs root, and debootstrap. Exits with 77 if the root cannot be made.
set -euo pipefail
tree=$(cd "$(dirname "$0")/../../.." && pwd)
suite=$1
shift
root=${ROOTS:-$tree/build/roots}/$suite-php
export FAIRLOCKD=${FAIRLOCKD:-$tree/build/release/bin/fairlockd}
[ $# -gt 0 ] || set -- lock_test failure_test settings_test symfony_test laravel_test readme_test \
  package_test

if [ ! -e "$root/made" ]; then
  mirror=$(sed -n 's/^URIs: //p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
  mkdir -p "$root"
  if ! debootstrap --variant=minbase "$suite" "$root" "${mirror:-http://deb.debian.org/debian}" \
      >"$root.log" 2>&1 ||
    ! chroot "$root" sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get \
      install -y -qq --no-install-recommends php-cli php-redis" >>"$root.log" 2>&1; then
    echo "skipped: the root of $suite could not be made: $(tail -n 1 "$root.log")"
    exit 77
  fi
  # A suite may lack some of these; the tests that need them are skipped.
  for package in composer php-codesniffer php-illuminate-cache php-illuminate-container \
      php-predis php-nrk-predis php-symfony-lock php-symfony-semaphore redis-server; do
    chroot "$root" sh -c "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends $package" >>"$root.log" 2>&1 || echo "$suite has no $package"
  done
  touch "$root/made"
fi

# Inside, the tree, the temporary files and the server's own root have the same paths as outside.
mounted=()
End() { for place in "${mounted[@]}"; do umount "$place"; done; }
trap End EXIT
for place in "$tree:$tree" /tmp:/tmp /:/outside /proc:/proc /dev:/dev; do
  mkdir -p "$root${place#*:}"
  mount --bind "${place%:*}" "$root${place#*:}"
  mounted=("$root${place#*:}" "${mounted[@]}")
done
cat >"$root/usr/local/bin/fairlockd" <<END
#!/bin/sh
exec chroot /outside sh -c 'cd "\$0" && exec "\$@"' "\$PWD" "$FAIRLOCKD" "\$@"
END
chmod +x "$root/usr/local/bin/fairlockd"

chroot "$root" php -r 'printf("PHP %s, phpredis %s\n", PHP_VERSION, phpversion("redis"));'
status=0
for test in "$@"; do
  echo "$test:"
  chroot "$root" env FAIRLOCKD=/usr/local/bin/fairlockd TMPDIR=/tmp \
    php "$tree/clients/php/tests/$test.php" || [ $? = 77 ] || status=1
done
exit $status
