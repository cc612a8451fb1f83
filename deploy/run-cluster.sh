#!/usr/bin/env bash
# Starts three members of etcd and three nodes of fairlock on this machine, as a first demonstration
# of high availability.
#
#   deploy/run-cluster.sh [BUILD_DIR]    default: build/release
#
# Everything listens on 127.0.0.1, at free ports, and stores its data in a temporary folder. Ctrl-C
# ends all processes and removes the folder. etcd runs without fsync, because no data here needs to
# survive.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=${1:-build/release}/bin
[ -x "$bin/fairlockd" ] || { echo "$bin/fairlockd is not there; build it first" >&2; exit 2; }
command -v etcd >/dev/null || { echo "etcd is not installed (Debian: etcd-server)" >&2; exit 2; }

folder=$(mktemp -d)
pids=()
End() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap End EXIT
trap 'exit 0' INT TERM

# FreePorts COUNT: prints that many ports that nothing listens on now.
FreePorts() {
  python3 -c '
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in sockets))' "$1"
}
read -r -a ports <<<"$(FreePorts 12)"

members=
endpoints=
for i in 0 1 2; do
  members+="${members:+,}etcd$i=http://127.0.0.1:${ports[i]}"
  endpoints+="${endpoints:+,}127.0.0.1:${ports[i + 3]}"
done
for i in 0 1 2; do
  etcd --name "etcd$i" --data-dir "$folder/etcd$i" --unsafe-no-fsync \
    --listen-peer-urls "http://127.0.0.1:${ports[i]}" \
    --initial-advertise-peer-urls "http://127.0.0.1:${ports[i]}" \
    --listen-client-urls "http://127.0.0.1:${ports[i + 3]}" \
    --advertise-client-urls "http://127.0.0.1:${ports[i + 3]}" \
    --initial-cluster "$members" --initial-cluster-token "$$" >"$folder/etcd$i.log" 2>&1 &
  pids+=($!)
done

declare -A node_pids
for i in 0 1 2; do
  port=${ports[i + 6]}
  "$bin/fairlockd" --port "$port" --bind 127.0.0.1 --http-port 0 --unix-socket "" \
    --sentinel-port "${ports[i + 9]}" \
    --cluster-etcd "$endpoints" --cluster-node "node$i" \
    --cluster-announce "127.0.0.1:$port" >"$folder/node$i.log" 2>&1 &
  pids+=($!)
  node_pids[$port]=$!
done

# Leader: prints the port of the node that leads; fails if none does. Any node knows it, at its
# Sentinel port.
Leader() {
  local answer
  answer=$(timeout 1 redis-cli -p "${ports[9]}" \
    SENTINEL GET-MASTER-ADDR-BY-NAME main 2>/dev/null) || return 1
  [[ $answer =~ ([0-9]+)$ ]] && echo "${BASH_REMATCH[1]}"
}

for _ in $(seq 150); do
  leader=$(Leader) && break
  sleep 0.2
done
if [ -z "${leader:-}" ]; then
  echo "no node leads" >&2
  tail "$folder"/*.log >&2
  exit 1
fi

hosts=127.0.0.1:${ports[6]},127.0.0.1:${ports[7]},127.0.0.1:${ports[8]}
for standby in "${ports[@]:6:3}"; do
  [ "$standby" = "$leader" ] || break
done
cat <<TEXT
etcd:      $endpoints
nodes:     ${hosts//,/ }
Sentinel:  127.0.0.1:${ports[9]} 127.0.0.1:${ports[10]} 127.0.0.1:${ports[11]}
leader:    127.0.0.1:$leader (process ${node_pids[$leader]})
logs:      $folder/*.log

Take a lock at any node:   redis-cli -p $standby LOCK order:42 worker-1 PX 60000
Wait for it at another:    redis-cli -p $leader LOCK order:42 worker-2 WAIT 60s
Look at the fleet:         $bin/fairlockctl --host $hosts cluster status
Kill the leader:           kill -9 ${node_pids[$leader]}
Hand over in good order:   $bin/fairlockctl --host $hosts cluster failover
TEXT
if [ "${FAIRLOCK_RUN_CLUSTER_ONCE:-}" = yes ]; then exit 0; fi
wait
