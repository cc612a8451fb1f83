#!/usr/bin/env bash
# Builds the packages, and tries them in a bare Debian 12: install, serve, upgrade, remove, purge.
#
#   deploy/test_package.sh ROOT    a folder; debootstrap puts a bare Debian there if it is empty
#
# As root; needs debootstrap and a mirror of Debian (MIRROR, else the usual one). What is in ROOT is
# changed. Ends with "the packages are right", or with the step that failed.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$(realpath -m "${1:?Which folder? deploy/test_package.sh ROOT}")
rm -rf build/package
deploy/package.sh 0.1.0 >/dev/null
deploy/package.sh 0.1.1 >/dev/null
for package in build/package/*_0.1.0_*.deb; do
  lintian --fail-on error "$package"
done

if [ ! -d "$root/usr" ]; then
  mirror=${MIRROR:-http://deb.debian.org/debian}
  debootstrap --variant=minbase bookworm "$root" "$mirror" >/dev/null
fi
rm -rf "$root/packages"
mkdir "$root/packages"
cp build/package/*.deb "$root/packages"
mount --bind /proc "$root/proc"
mount --bind /dev "$root/dev"
trap 'umount "$root/dev" "$root/proc"' EXIT

chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
  ${http_proxy:+http_proxy="$http_proxy"} bash -euo pipefail -s <<'INSIDE'
Step() { printf '%s\n' "$*"; step=$*; }
trap '[ $? = 0 ] || echo "FAILED: $step"' EXIT

# As systemd would start it, which does not run here.
Start() {
  (cd /var/lib/fairlock && exec setpriv --reuid fairlock --regid fairlock --clear-groups \
    fairlockd --config /etc/fairlock/fairlock.yaml 2>/tmp/log) &
  server=$!
  for _ in $(seq 100); do
    if fairlockctl ping >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  cat /tmp/log
  return 1
}
Stop() {
  kill "$server"
  wait "$server"
}

Step install
apt-get -q update >/dev/null
apt-get -q -y install redis-tools ./packages/*_0.1.0_*.deb >/tmp/apt.log 2>&1 || cat /tmp/apt.log
[ "$(stat -c '%U %a' /var/lib/fairlock)" = "fairlock 700" ]

Step serve redis-cli
Start
token=$(redis-cli -p 3247 LOCK order:42 worker-1 EX 3600)
[ "$token" -gt 0 ]
fairlockctl show order:42 | grep worker-1 >/dev/null
[ "$(fairlockctl run k -- echo ran)" = ran ]
Stop

Step upgrade: data and configuration are kept
sed -i 's/^max_clients: .*/max_clients: 77/' /etc/fairlock/fairlock.yaml
apt-get -q -y install ./packages/*_0.1.1_*.deb >/tmp/apt.log 2>&1 || cat /tmp/apt.log
grep -qx 'max_clients: 77' /etc/fairlock/fairlock.yaml
Start
[ "$(redis-cli -p 3247 CHECK order:42 "$token")" = 1 ]
[ "$(redis-cli -p 3247 CONFIG GET max_clients | tail -1)" = 77 ]
Stop

Step remove: data and configuration stay
apt-get -q -y remove fairlock-server fairlock-tools >/tmp/apt.log 2>&1 || cat /tmp/apt.log
[ ! -e /usr/bin/fairlockd ]
[ -d /var/lib/fairlock/data ]
[ -f /etc/fairlock/fairlock.yaml ]

Step purge: nothing stays
apt-get -q -y purge fairlock-server >/tmp/apt.log 2>&1 || cat /tmp/apt.log
[ ! -e /var/lib/fairlock ]
[ ! -e /etc/fairlock ]
echo the packages are right
INSIDE
