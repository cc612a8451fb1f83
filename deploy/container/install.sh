#!/usr/bin/env bash
# Installs the packages of fairlock that lie beside this script into the root of an image, and
# removes what the image does not need, this folder included. Runs inside that root.
set -euo pipefail
cd "$(dirname "$0")"

export DEBIAN_FRONTEND=noninteractive
# Fixed ids, so that the owner of the volume does not change.
groupadd --system --gid 3247 fairlock
useradd --system --uid 3247 --gid fairlock --home-dir /var/lib/fairlock fairlock
apt-get -q update
apt-get -q upgrade -y
apt-get -q install -y --no-install-recommends ./*.deb
# The file has no password, and the container may run as another user.
chmod 0644 /etc/fairlock/fairlock.yaml

apt-get -q clean
rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/share/man/* /usr/share/info/* \
  /usr/share/locale/* "$PWD"
find /usr/share/doc -depth ! -name copyright ! -type d -delete
find /usr/share/doc -depth -type d -empty -delete
