#!/bin/bash
# Runs etcd_bench on an etcd cluster of three members, which it starts on loopback with data in
# TMPDIR.
#
#     bench/etcd_bench.sh [BUILD-FOLDER] [OPTION-OF-ETCD_BENCH]...
set -eu

build=${1:-build/release}
shift || true
work=$(mktemp -d)
pids=()

Stop() {
  [ ${#pids[@]} -eq 0 ] || kill -TERM "${pids[@]}" || true
  wait 2>/dev/null
  rm -rf "$work"
}
trap Stop EXIT

first_port=${FIRST_PORT:-23790}
peers=
clients=
for i in 0 1 2; do
  peers+="${peers:+,}m$i=http://127.0.0.1:$((first_port + 10 + i))"
  clients+="${clients:+,}127.0.0.1:$((first_port + i))"
done
for i in 0 1 2; do
  client=http://127.0.0.1:$((first_port + i))
  peer=http://127.0.0.1:$((first_port + 10 + i))
  etcd --name "m$i" --data-dir "$work/m$i" --listen-client-urls "$client" \
    --advertise-client-urls "$client" --listen-peer-urls "$peer" \
    --initial-advertise-peer-urls "$peer" --initial-cluster "$peers" \
    >"$work/m$i.log" 2>&1 &
  pids+=($!)
done
export ETCDCTL_API=3
for _ in $(seq 100); do
  etcdctl --endpoints "$clients" endpoint health >/dev/null 2>&1 && break
  sleep 0.1
done
"$build/bin/etcd_bench" "$clients" "$@"
