#!/usr/bin/env bash
# Tests, in a minimal Debian, what README says about a checkout: that deploy/run.sh works from
# scratch, that the commands it prints work, that deploy/package.sh works after it, and that
# deploy/test.sh finds everything it needs to build.
#
#   deploy/test_checkout.sh ROOT [SUITE]    a folder; if it is empty, debootstrap installs Debian in
#                                           it, of the suite bookworm (default) or trixie
#
# Run as root, with the package debootstrap and a Debian mirror (MIRROR, or the default one). Leaves
# the content of ROOT unchanged. Compiles everything, unless CCACHE_DIR names a cache that has it.
# Ends with "a checkout is right", or with the step that failed.
set -euo pipefail
cd "$(dirname "$0")/.."

bare=$(realpath -m "${1:?Which folder? deploy/test_checkout.sh ROOT [SUITE]}")
if [ ! -d "$bare/usr" ]; then
  debootstrap --variant=minbase "${2:-bookworm}" "$bare" \
    "${MIRROR:-http://deb.debian.org/debian}" >/dev/null
fi

work=$(mktemp -d)
CleanUp() {
  umount -R "$work/root" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap CleanUp EXIT
mkdir "$work/upper" "$work/scratch" "$work/root"
mount -t overlay -o "lowerdir=$bare,upperdir=$work/upper,workdir=$work/scratch" fairlock \
  "$work/root"
mount --bind /dev "$work/root/dev"

# Uses the same path as here, so that the compiler cache matches.
mkdir -p "$work/root$PWD"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$work/root$PWD"
if [ -n "${CCACHE_DIR:-}" ]; then
  mkdir -p "$work/root$CCACHE_DIR"
  mount --bind "$CCACHE_DIR" "$work/root$CCACHE_DIR"
fi

cat >"$work/root/steps" <<'INSIDE'
Step() { printf '\n%s\n' "== $*"; step=$*; }
trap '[ $? = 0 ] || echo "FAILED: $step"' EXIT

mount -t proc proc /proc
if [ -n "${CCACHE_DIR:-}" ]; then
  apt-get -q update >/dev/null
  apt-get -q -y install --no-install-recommends ccache >/dev/null 2>&1
fi

Step deploy/run.sh
deploy/run.sh >/run.log 2>&1 &
server=$!
until grep -q "fairlock is ready" /run.log; do
  kill -0 "$server" || { tail -n 30 /run.log; exit 1; }
  sleep 1
done
grep -vE '^\[|^-- ' /run.log

Step the commands of README
PATH=$PWD/build/release/bin:$PATH
set -x
token=$(redis-cli -p 3247 LOCK order:43 worker-1 EX 300)
redis-cli -p 3247 LOCK order:43 worker-2 WAIT 300s >/second &
second=$!
until [ "$(redis-cli -p 3247 QUEUE order:43 | grep -c worker-2)" = 1 ]; do sleep 0.1; done
redis-cli -p 3247 UNLOCK order:43 worker-1
wait "$second"
[ "$(cat /second)" -gt "$token" ]
[ "$(fairlockctl run nightly -- echo backing up)" = "backing up" ]
fairlockctl lock order:42 worker-1 --ttl 1h
fairlockctl locks
fairlockctl break order:42 --yes --reason "worker-1 hangs"
kill -INT "$server"
wait "$server"
{ set +x; } 2>/dev/null

Step deploy/package.sh
deploy/package.sh >/package.log 2>&1 || { tail -n 30 /package.log; exit 1; }
tail -n 2 /package.log

Step deploy/test.sh --prepare
deploy/test.sh --prepare >/prepare.log 2>&1 || { tail -n 30 /prepare.log; exit 1; }
grep -E '^Installing|^The JavaScript|Generating done' /prepare.log
targets=$(cmake --build build/release --target help | wc -l)
echo "targets that can be built: $targets"
for target in fairlockd fairlockctl package_files unit_command simulation fairlock_load; do
  cmake --build build/release --target help | grep -q "^$target: phony" ||
    { echo "no target $target"; exit 1; }
done
ctest --preset release -N | tail -n 1
INSIDE
# Runs in a separate PID namespace, so that all processes end when the steps do.
unshare --pid --fork --kill-child --mount chroot "$work/root" \
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
  LC_ALL=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} \
  ${CCACHE_DIR:+CCACHE_DIR="$CCACHE_DIR" CCACHE_BASEDIR="$(dirname "$PWD")"} \
  sh -c "cd '$PWD' && exec bash -euo pipefail /steps" </dev/null
echo
echo "a checkout is right"
