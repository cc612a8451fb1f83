#!/usr/bin/env bash
# Starts three members of etcd and several nodes of fairlock on this machine, as a first
# demonstration of high availability.
#
#   deploy/run-cluster.sh [--partitions P] [BUILD_DIR]    default: build/release
#
# Without --partitions, there are three nodes: a leader and two standbys. With it, P partitions
# share the keys, each with a leader and one standby, and clients need the mode for Redis Cluster.
#
# Everything listens on 127.0.0.1, at free ports, and stores its data in a temporary folder. Ctrl-C
# ends all processes and removes the folder. etcd runs without fsync, because no data here needs to
# survive.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
  exit 0
fi
partitions=1
if [ "${1:-}" = --partitions ]; then
  partitions=${2:-}
  [[ $partitions =~ ^[1-9][0-9]?$ ]] && [ "$partitions" -le 64 ] ||
    { echo "--partitions must be a number from 1 to 64, got \"$partitions\"" >&2; exit 2; }
  shift 2
fi
nodes=3
[ "$partitions" = 1 ] || nodes=$((2 * partitions))
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
read -r -a ports <<<"$(FreePorts $((6 + 3 * nodes)))"

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

# The members of etcd need a moment to agree.
for attempt in $(seq 50); do
  [ "$partitions" = 1 ] && break
  "$bin/fairlockd" --cluster-etcd "$endpoints" --create-fleet "$partitions" \
    >"$folder/create.log" 2>&1 && break
  [ "$attempt" -lt 50 ] || { cat "$folder/create.log" >&2; exit 1; }
  sleep 0.2
done

dialect=auto
[ "$partitions" = 1 ] || dialect=cluster
declare -A node_pids
for i in $(seq 0 $((nodes - 1))); do
  port=${ports[i + 6]}
  "$bin/fairlockd" --port "$port" --bind 127.0.0.1 --unix-socket "" \
    --http-port "${ports[i + 6 + 2 * nodes]}" \
    --sentinel-port "${ports[i + 6 + nodes]}" \
    --cluster-etcd "$endpoints" --cluster-node "node$i" --cluster-machine "machine$((i % 2))" \
    --cluster-dialect "$dialect" \
    --cluster-announce "127.0.0.1:$port" >"$folder/node$i.log" 2>&1 &
  pids+=($!)
  node_pids[$port]=$!
done

# Fail WHY: ends with the logs.
Fail() {
  echo "$1" >&2
  tail "$folder"/*.log >&2
  exit 1
}

hosts=
for port in "${ports[@]:6:nodes}"; do hosts+="${hosts:+,}127.0.0.1:$port"; done

if [ "$partitions" != 1 ]; then
  # IsWhole: whether each partition has a leader, and each node is known.
  IsWhole() {
    local info
    info=$(timeout 1 redis-cli -p "${ports[6]}" CLUSTER INFO 2>/dev/null) || return 1
    [[ $info == *cluster_state:ok* && $info == *"cluster_known_nodes:$nodes"* ]]
  }
  for _ in $(seq 150); do
    IsWhole && break
    sleep 0.2
  done
  IsWhole || Fail "not every partition has a leader"
  nodes_text=$(redis-cli -p "${ports[6]}" CLUSTER NODES)
  leader=$(sed -n 's/.*:\([0-9]*\)@.*master.* 0-.*/\1/p' <<<"$nodes_text")
  cat <<TEXT
etcd:      $endpoints
nodes:     ${hosts//,/ }
leaders:
$(sed -n 's/^[^ ]* \([^@]*\)@.*master.* \([0-9-]*\)$/  \1  slots \2/p' <<<"$nodes_text")
logs:      $folder/*.log

Take a lock:               redis-cli -c -p ${ports[6]} LOCK order:42 worker-1 PX 60000
Take two at once:          redis-cli -c -p ${ports[6]} MLOCK 2 {order:7}a {order:7}b worker-1
Look at the fleet:         $bin/fairlockctl --host $hosts cluster status
Look at it in a browser:   http://127.0.0.1:${ports[6 + 2 * nodes]}/
Kill the first leader:     kill -9 ${node_pids[$leader]}
TEXT
  if [ "${FAIRLOCK_RUN_CLUSTER_ONCE:-}" = yes ]; then exit 0; fi
  wait
  exit 0
fi

# Leader: prints the port of the node that leads; fails if none does. Any node knows it, at its
# Sentinel port.
Leader() {
  local answer
  answer=$(timeout 1 redis-cli -p "${ports[6 + nodes]}" \
    SENTINEL GET-MASTER-ADDR-BY-NAME main 2>/dev/null) || return 1
  [[ $answer =~ ([0-9]+)$ ]] && echo "${BASH_REMATCH[1]}"
}

for _ in $(seq 150); do
  leader=$(Leader) && break
  sleep 0.2
done
[ -n "${leader:-}" ] || Fail "no node leads"

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
Look at it in a browser:   http://127.0.0.1:${ports[6 + 2 * nodes]}/
Kill the leader:           kill -9 ${node_pids[$leader]}
Hand over in good order:   $bin/fairlockctl --host $hosts cluster failover
TEXT
if [ "${FAIRLOCK_RUN_CLUSTER_ONCE:-}" = yes ]; then exit 0; fi
wait
