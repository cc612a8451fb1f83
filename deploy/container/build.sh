#!/usr/bin/env bash
# Builds an image with fairlockd and fairlockctl without podman or Docker: a minimal Debian with the
# packages that deploy/package.sh makes, as an OCI layout.
#
#   deploy/container/build.sh [PACKAGES [LAYOUT]]    default: build/package build/image
#
# ARCH       the architecture; default: that of this machine. The packages must be of it. For
#            another one, qemu-user-static and its binfmt must be installed
# SUITE      the release of Debian for which the packages were built; default: that of this machine
# MIRROR, SECURITY_MIRROR    mirrors of Debian and of its security updates
#
# Run as root, with the packages of deploy/packages/container.txt. What can then be done with the
# layout:
#
#   skopeo copy oci:build/image docker://registry.example.com/fairlock:0.1.0
#   podman pull oci:build/image
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=$(realpath "${1:-build/package}")
layout=$(realpath -m "${2:-build/image}")
arch=${ARCH:-$(dpkg --print-architecture)}
suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
mirror=${MIRROR:-http://deb.debian.org/debian}
security_mirror=${SECURITY_MIRROR:-http://deb.debian.org/debian-security}

Fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

[ "$(id -u)" = 0 ] || Fail "Only root may make the files of the image, which belong to its users."
command -v debootstrap >/dev/null ||
  Fail "debootstrap is missing: deploy/install-packages.sh container installs it."
for package in server tools; do
  compgen -G "$packages/fairlock-${package}_*_$arch.deb" >/dev/null ||
    Fail "There is no package fairlock-$package for $arch in $packages: deploy/package.sh makes it."
done

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

# Run NAME COMMAND...: shows the output only if the command fails.
Run() {
  echo "$1"
  "${@:2}" >"$work/log" 2>&1 </dev/null || { tail -n 30 "$work/log" >&2 && exit 1; }
}

Run "Installing Debian $suite for $arch" \
  debootstrap --variant=minbase --arch="$arch" "$suite" "$root" "$mirror"
printf 'deb %s %s main\n' "$mirror" "$suite" "$mirror" "$suite-updates" \
  "$security_mirror" "$suite-security" >"$root/etc/apt/sources.list"
mkdir "$root/tmp/fairlock"
cp "$packages"/fairlock-{server,tools}_*_"$arch".deb deploy/container/install.sh \
  "$root/tmp/fairlock"
# Services must not start in the root.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
Run "Installing fairlock" chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ \
  ${http_proxy:+http_proxy="$http_proxy"} /tmp/fairlock/install.sh
rm -f "$root"/usr/sbin/policy-rc.d "$root"/etc/{resolv.conf,hostname,machine-id} \
  "$root"/etc/{passwd,group,shadow,gshadow,subuid,subgid}- "$root"/var/lib/dpkg/*-old
rm -rf "$root"/dev/* "$root"/proc/* "$root"/sys/* "$root"/tmp/* "$root"/run/*

version=$(dpkg-deb -f "$packages"/fairlock-server_*_"$arch".deb Version)
Run "Writing $layout" \
  /usr/bin/python3 -B deploy/container/write_image.py "$root" "$layout" "$arch" "$version"
tail -n 1 "$work/log"
