#!/usr/bin/env bash
# Tests the packages in a separate Debian 12 with systemd as process 1: installation, upgrade while
# locks are held and awaited, reload, crash, reboot, removal, purge.
#
#   deploy/test_package.sh [OPTION...] ROOT     in a minimal Debian, which debootstrap installs into
#                                               the folder ROOT if that is empty
#   deploy/test_package.sh --short [OPTION...] BUILD
#                                               in a copy of this machine's files plus the contents
#                                               of the build folder BUILD; runs fewer steps
#
#   --now FOLDER      tests the packages in this folder instead of building them
#   --before FOLDER   upgrades from the packages in this folder; by default, from the packages under
#                     test with a lower version number
#
# ROOT needs a Debian mirror (MIRROR, or the default one). Packages installed there are kept, and
# downloaded packages are added.
#
# Run as root, with the packages debootstrap, lintian and systemd-container installed. The steps are
# in deploy/package_steps.sh. Ends with "the packages are right", or with the step that failed.
# --short exits with 77 and prints the reason if no system can be booted here.
set -euo pipefail
cd "$(dirname "$0")/.."

form=full
before=
now=
while [ $# -gt 1 ]; do
  case $1 in
    --short) form=short ;;
    --before) before=$(realpath "$2") && shift ;;
    --now) now=$(realpath "$2") && shift ;;
    *) break ;;
  esac
  shift
done
folder=$(realpath -m "${1:?Which folder? deploy/test_package.sh ROOT}")

work=$(mktemp -d)
CleanUp() {
  umount -R "$work/root" 2>/dev/null || true
  umount "$work" 2>/dev/null || true
  rmdir "$work" "/run/systemd/nspawn/propagate/${work##*.}" 2>/dev/null || true
}
trap CleanUp EXIT

Skip() {
  echo "not tried here: $*"
  [ "$form" = short ] || exit 1
  exit 77
}

CheckTools() {
  local tool
  [ "$(id -u)" = 0 ] || Skip "only root may boot a system"
  grep -qs '^VERSION_ID="12"' /etc/os-release || Skip "this is not Debian 12"
  for tool in systemd-nspawn dpkg-deb dpkg-shlibdeps cpack redis-cli; do
    command -v $tool >/dev/null || Skip "$tool is missing"
  done
  ! dpkg-query -W fairlock-server >/dev/null 2>&1 || Skip "the packages are installed here"
  # The booted systems' files are in memory, layered over those of ROOT or this machine.
  mount -t tmpfs -o mode=755 fairlock "$work" || Skip "this user may not mount"
}

# Variant FROM TO VERSION: repacks the packages in FROM as another version with another default
# configuration.
Variant() {
  local package tree=$work/tree
  mkdir -p "$2"
  for package in "$1"/*.deb; do
    rm -rf "$tree"
    dpkg-deb -R "$package" "$tree"
    sed -i "s/^Version: .*/Version: $3/" "$tree/DEBIAN/control"
    [ ! -d "$tree/etc" ] || echo "# A line of version $3." >>"$tree/etc/fairlock/fairlock.yaml"
    dpkg-deb --root-owner-group -Znone -b "$tree" "$2/$(basename "$package")" >/dev/null
  done
  rm -rf "$tree"
}

MakePackages() {
  local packages=$work/packages
  mkdir -p "$packages/now"
  if [ -z "$now" ] && [ $form = full ]; then
    rm -rf build/package
    deploy/package.sh >/dev/null
    now=build/package
  elif [ -z "$now" ]; then
    cmake --build "$folder" --target package_files >/dev/null
    (cd "$folder" && cpack -B "$work/cpack" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >/dev/null)
    now=$work/cpack
  fi
  # The mode of the configuration is intended: it may contain a password.
  [ $form = short ] || lintian --allow-root --fail-on error,warning \
    --suppress-tags non-standard-file-perm "$now"/*.deb
  cp "$now"/*.deb "$packages/now"
  if [ -n "$before" ]; then
    mkdir "$packages/before"
    cp "$before"/*.deb "$packages/before"
  else
    Variant "$packages/now" "$packages/before" 0.0.9
  fi
  Variant "$packages/now" "$packages/after" 999.0
  cp deploy/package_steps.sh "$packages"
}

InRoot() {
  chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} "${@:2}" </dev/null >"$work/log" 2>&1 ||
    { cat "$work/log" >&2 && return 1; }
}

# Installs a minimal Debian with systemd, and the dependencies of the packages, so that their
# installation needs no network.
MakeBareSystem() {
  local bare=$folder mirror=${MIRROR:-http://deb.debian.org/debian}
  if [ ! -d "$bare/usr" ]; then
    debootstrap --variant=minbase --include=systemd,systemd-sysv,redis-tools bookworm "$bare" \
      "$mirror" >"$work/log" || { tail -n 20 "$work/log" >&2 && return 1; }
  fi
  mkdir -p "$bare/packages"
  cp "$work"/packages/now/*.deb "$bare/packages"
  InRoot "$bare" apt-get -q update
  InRoot "$bare" sh -c 'apt-get -q -y --download-only install /packages/*.deb'
  rm -rf "$bare/packages"
}

MountRoot() {
  local lower=/
  [ $form = short ] || lower=$folder
  mkdir "$work/upper" "$work/scratch" "$work/root"
  mount -t overlay -o "lowerdir=$lower,upperdir=$work/upper,workdir=$work/scratch" fairlock \
    "$work/root" || Skip "there is no overlay file system"
  mv "$work/packages" "$work/root/packages"
  [ $form = full ] && return
  # Starts only what systemd itself needs, and keeps apt and dpkg from doing anything else.
  local root=$work/root
  rm -rf "$root"/etc/systemd/system/* "$root"/etc/apt/apt.conf.d/* "$root/etc/fstab" \
    "$root/usr/sbin/policy-rc.d" "$root/var/lib/man-db/auto-update"
  mkdir -p "$root/etc/dpkg/dpkg.cfg.d"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fairlock-test"
}

# Boot PART: boots the system, which runs the steps of this part; returns when they have ended.
Boot() {
  local root=$work/root target=multi-user.target
  [ $form = full ] || target=basic.target
  cat >"$root/etc/systemd/system/package-steps.service" <<UNIT
[Unit]
Description=The steps of deploy/test_package.sh
Wants=$target
After=$target
SuccessAction=exit
FailureAction=exit
[Service]
Type=oneshot
Environment=FORM=$form LC_ALL=C.UTF-8
ExecStart=/packages/package_steps.sh $1
StandardOutput=file:/packages/output
StandardError=inherit
TimeoutStartSec=10min
UNIT
  : >"$root/packages/output"
  timeout 660 systemd-nspawn -q -D "$root" --machine="${work##*.}" --register=no --keep-unit \
    --private-network --console=pipe -b -- --unit=package-steps.service \
    </dev/null >"$work/boot.log" 2>&1 || true
  if [ ! -e "$root/packages/booted" ]; then
    tail -n 5 "$work/boot.log"
    Skip "systemd-nspawn cannot boot a system"
  fi
  cat "$root/packages/output"
  [ -e "$root/packages/$1-is-right" ]
}

CheckTools
MakePackages
[ $form = short ] || MakeBareSystem
MountRoot
Boot first
[ $form = short ] || Boot second
echo
echo "the packages are right"
