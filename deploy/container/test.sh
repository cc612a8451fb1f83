#!/usr/bin/env bash
# Tries an image that deploy/container/build.sh has made, without podman or Docker: runs it as its
# settings say, with a root that it cannot write and without capabilities, takes a lock, and
# restarts it.
#
#   deploy/container/test.sh [LAYOUT]    default: build/image
#
# Run as root, with the packages of deploy/packages/container.txt. For an image of another
# architecture, qemu-user-static and its binfmt must be installed. Ends with "the image is right".
set -euo pipefail
cd "$(dirname "$0")/../.."

layout=$(realpath "${1:-build/image}")
work=$(mktemp -d)
server=
CleanUp() {
  [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap CleanUp EXIT
root=$work/root

# Image PART: prints the path of its layer, or one of its settings, one word a line.
Image() {
  /usr/bin/python3 - "$layout" "$1" <<'END'
import json, pathlib, sys
folder, part = pathlib.Path(sys.argv[1]), sys.argv[2]
def blob(named):
    return folder / "blobs" / named["digest"].replace(":", "/")
index = json.loads((folder / "index.json").read_text())
manifest = json.loads(blob(index["manifests"][0]).read_text())
settings = json.loads(blob(manifest["config"]).read_text())["config"]
settings["Layer"] = str(blob(manifest["layers"][0]))
settings["Healthcheck"] = settings["Healthcheck"]["Test"][1:]
print(settings[part] if isinstance(settings[part], str) else "\n".join(settings[part]))
END
}

Is() { # WHAT VALUE EXPECTED
  echo "  $1: $2"
  [ "$2" = "$3" ] || { echo "expected: $3" >&2 && exit 1; }
}

user=$(Image User)
folder=$(Image WorkingDir)
mapfile -t entry < <(Image Entrypoint)
mapfile -t health < <(Image Healthcheck)
# What runs words as the user of the image, who can get no rights.
confined="setpriv --reuid=${user%:*} --regid=${user#*:} --clear-groups --no-new-privs \
  --bounding-set=-all --inh-caps=-all env -i PATH=/usr/bin:/bin"
export folder root work confined
mkdir "$root" "$work/data"
tar -xzf "$(Image Layer)" -C "$root"
chown "$user" "$work/data"
printf 'user ops on #%s ~* +@all\n' "$(printf secret | sha256sum | cut -d ' ' -f 1)" \
  >"$work/users.acl"
echo secret >"$work/password"
touch "$root"/etc/{users.acl,password}

# In namespaces of its own, with the mounts that a container gets.
StartServer() {
  unshare --mount --net --pid --ipc --uts --fork --kill-child bash -c '
    set -e
    ip link set lo up
    mount --bind "$root" "$root"
    mount --bind "$work/data" "$root$folder"
    mount --bind "$work/users.acl" "$root/etc/users.acl"
    mount --bind "$work/password" "$root/etc/password"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/dev"
    for device in null urandom; do
      touch "$root/dev/$device"
      mount --bind "/dev/$device" "$root/dev/$device"
    done
    mount -o remount,ro,bind "$root"
    exec chroot "$root" bash -c "cd $folder; exec $confined \"\$@\"" bash "$@"
  ' bash "${entry[@]}" --acl-file /etc/users.acl "$@" >"$work/log" 2>&1 </dev/null &
  server=$!
  for ((tries = 0; tries < 300; tries++)); do
    InImage "${health[@]}" >/dev/null 2>&1 && return
    kill -0 $server 2>/dev/null || break
    sleep 0.2
  done
  cat "$work/log" >&2
  exit 1
}

# InImage WORD...: runs them in the container.
InImage() {
  local first
  first=$(pgrep -P "$server" | head -n 1)
  # $confined is several words.
  nsenter --target "$first" --mount --net --pid --ipc --uts --root env -C / $confined \
    FAIRLOCK_USER=ops FAIRLOCK_PASSWORD_FILE=/etc/password "$@"
}

StopServer() {
  kill -TERM "$(pgrep -P "$server" | head -n 1)"
  wait "$server" || { cat "$work/log" >&2 && exit 1; }
  server=
}

echo "It starts as the user $user"
StartServer
Is "user" "$(InImage id -u)" "${user%:*}"
Is "capabilities" "$(InImage grep CapBnd /proc/1/status | cut -f 2)" 0000000000000000
Is "a file in the root" "$(InImage sh -c 'touch /etc/x 2>&1' | sed 's/.*: //')" \
  "Read-only file system"
InImage "${health[@]}"
InImage fairlockctl lock image worker-1 --ttl 1h
echo "It stops cleanly, and starts again with the lock"
StopServer
StartServer
InImage fairlockctl locks
Is "holder" "$(InImage fairlockctl why image | head -n 1 | cut -d ' ' -f 1-5)" \
  "It is held by worker-1"
StopServer
echo "the image is right"
