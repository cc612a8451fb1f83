# Part of compare.sh: starts and ends the servers under test.
#
# Each server has a name; the arrays PORT, PID and SOCKET hold its details. When the script ends,
# for whatever reason, every process that was started here or passed to AddChild is ended by its
# process ID.

declare -A PORT PID SOCKET
children=()
work=$(mktemp -d)

EndEverything() {
  local child
  for child in "${children[@]}"; do kill "$child" 2>/dev/null; done
  for child in "${children[@]}"; do
    EndChild "$child"
  done
  rm -rf "$work"
}
trap EndEverything EXIT
trap 'exit 130' INT TERM

Die() {
  echo "compare.sh: $*" >&2
  exit 1
}

AddChild() { children+=("$1"); }

# EndChild PID: asks the process to end, and kills it after 5 s.
EndChild() {
  local tries
  kill "$1" 2>/dev/null
  for ((tries = 0; tries < 100; tries++)); do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.05
  done
  kill -KILL "$1" 2>/dev/null
  wait "$1" 2>/dev/null
  return 0
}

# ServerCommand NAME PORT SOCKET: stores the command line in `command`.
ServerCommand() {
  local plain_port=0 tls_port=$2
  # These servers have both ports; the TLS port is lower by 10,000.
  [[ $1 != storm-* ]] || { plain_port=$2 && tls_port=$(($2 - 10000)); }
  case $1 in
    fairlock | redis-way)  # both are fairlockd; the second one gets Redis's commands
      command=("$bin/fairlockd" --port "$2" --http-port 0 --bind 127.0.0.1 --unix-socket "$3"
        --max-clients 19000 --log-level error
        --durability none)  # the comparison is about locking; a journal would measure the disk
      ;;
    fairlock-sync | fairlock-async)
      command=("$bin/fairlockd" --port "$2" --http-port 0 --bind 127.0.0.1 --unix-socket "$3"
        --durability "${1#fairlock-}" --data-dir "$work/$1.data" --log-level error)
      ;;
    redis-always | redis-everysec)
      command=(redis-server --port "$2" --bind 127.0.0.1 --unixsocket "$3" --save ''
        --appendonly yes --appendfsync "${1#redis-}" --auto-aof-rewrite-percentage 0
        --appenddirname "$1.data" --dir "$work" --loglevel warning)
      ;;
    redis)
      command=(redis-server --port "$2" --bind 127.0.0.1 --unixsocket "$3" --maxclients 19000
        --save '' --appendonly no --loglevel warning)
      ;;
    tls-redis | storm-redis)
      command=(redis-server --port "$plain_port" --tls-port "$tls_port" --bind 127.0.0.1
        --unixsocket "$3" --tls-cert-file "$work/tls.crt" --tls-key-file "$work/tls.key"
        --tls-ca-cert-file "$work/tls.crt" --tls-auth-clients no --save '' --appendonly no
        --loglevel warning)
      ;;
    tls-fairlock | storm-fairlock)
      command=("$bin/fairlockd" --port "$plain_port" --tls-port "$tls_port" --bind 127.0.0.1
        --http-port 0 --unix-socket "$3" --tls-cert-file "$work/tls.crt"
        --tls-key-file "$work/tls.key" --log-level error --durability none)
      ;;
    null) command=("$bin/fairlock_null_server" --port "$2") ;;
    table) command=("$bin/fairlock_null_server" --port "$2" --table) ;;
  esac
  [[ -z $slow_sync || ! $1 =~ -(sync|async|always|everysec)$ ]] ||
    command=(env "SLOW_SYNC_US=$slow_sync" "LD_PRELOAD=$bin/slow_sync.so" "${command[@]}")
}

# Answers PORT: whether something listens on that port.
Answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# IsReady NAME PORT: whether the server has loaded its state.
IsReady() {
  [[ $1 != fairlock-* ]] || [ "$(redis-cli -p "$2" PING 2>&1)" = PONG ]
}

# Start NAME: starts a new server of that kind on a free port.
Start() {
  local name=$1 attempt tries port socket=$work/$1.sock
  local -a command
  for ((attempt = 0; attempt < 20; attempt++)); do
    port=$((20000 + RANDOM % 10000))
    Answers "$port" && continue
    rm -f "$socket"
    ServerCommand "$name" "$port" "$socket"
    (cd "$work" && exec "${command[@]}") >"$work/$name.log" 2>&1 &
    PID[$name]=$!
    PORT[$name]=$port
    SOCKET[$name]=$socket
    AddChild $!
    for ((tries = 0; tries < 200; tries++)); do
      kill -0 "${PID[$name]}" 2>/dev/null || break
      if Answers "$port" && IsReady "$name" "$port"; then
        started[$name]="${command[*]}"
        return 0
      fi
      sleep 0.05
    done
    kill -0 "${PID[$name]}" 2>/dev/null && Die "$name does not listen: $(cat "$work/$name.log")"
  done
  Die "$name cannot be started: $(cat "$work/$name.log")"
}
declare -A started

Stop() { EndChild "${PID[$1]}"; }

# Dialect NAME: the dialect of fairlock_load for that server.
Dialect() { [[ $1 == redis* ]] && echo redis || echo fairlock; }

# Load NAME COMMAND [OPTION...]: runs the load generator once, in the dialect of that server or in
# $dialect; its figures go to $work/figures.
Load() {
  local name=$1
  shift
  "$bin/fairlock_load" "$1" --server "127.0.0.1:${PORT[$name]}" --server-pid "${PID[$name]}" \
    --dialect "${dialect:-$(Dialect "$name")}" "${@:2}" >"$work/figures" ||
    Die "the load on $name failed: fairlock_load $*"
}

# Figure NAME: prints its value from the last run.
Figure() { awk -v name="$1" '$1 == name { print $2 }' "$work/figures"; }

# Median: prints the median of the numbers on standard input, one per line.
Median() {
  sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

# MedianRatio FILE FILE: prints the median of the ratios of corresponding lines, because rounds are
# paired.
MedianRatio() { paste "$1" "$2" | awk '{ print $1 / $2 }' | Median; }
