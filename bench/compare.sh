#!/usr/bin/env bash
# Compares fairlockd with redis-server and a null server, and prints the figures.
#
#     bench/compare.sh [--quick] [--section NAME]... [--build DIR] [--results FILE] [--slow-sync US]
#
#     --section   cpu, redis_way, script, tls, durable, contended, memory, expiry, idle, waiters or
#                 engine; default: all
#     --quick     fewer and shorter rounds: to check that everything works, not for publishing
#     --build     the folder whose bin/ holds the programs; default: build/release
#     --results   also writes each figure as a line `name value` to that file
#     --slow-sync with a journal, each sync takes this many microseconds longer, in both servers, to
#                 simulate a slower disk
#
# Needs redis-server, redis-cli and 20,000 open files (ulimit -Hn). Listens on loopback only. The
# script ends all servers that it starts. Ratios are medians of the ratios of paired rounds. CPU is
# the user and system time of all threads of the server.
set -uo pipefail
script=$(realpath "$0")
cd "$(dirname "$script")/.." || exit 1

quick=
build=build/release
results=
slow_sync=
sections=()
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    --section) sections+=("${2:?--section needs a name}") && shift ;;
    --build) build=${2:?--build needs a folder} && shift ;;
    --results) results=${2:?--results needs a file} && shift ;;
    --slow-sync) slow_sync=${2:?--slow-sync needs microseconds} && shift ;;
    *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$script" >&2 && exit 2 ;;
  esac
  shift
done
[ ${#sections[@]} -gt 0 ] ||
  sections=(cpu redis_way script tls durable contended memory expiry idle waiters engine)
bin=$(realpath "$build")/bin
[ -z "$results" ] || { results=$(realpath "$results") && : >"$results"; } || exit 2

. bench/servers.sh
. bench/durable_section.sh
. bench/redis_way_section.sh
. bench/script_section.sh
. bench/tls_section.sh

for program in fairlockd fairlock_load fairlock_null_server engine_bench; do
  [ -x "$bin/$program" ] || Die "$bin/$program does not exist; build it first"
done
for program in redis-server redis-cli redis-benchmark openssl; do
  command -v $program >/dev/null || Die "$program is not installed"
done
ulimit -Sn 20000 || Die "ulimit -Hn must be at least 20000, is $(ulimit -Hn)"

# Note NAME VALUE: records one figure of the result.
Note() {
  [ -z "$results" ] || echo "$1 $2" >>"$results"
}

# Row TEXT VALUE...: prints one line of a table.
Row() {
  local text=$1 value
  shift
  printf '| %s |' "$text"
  for value in "$@"; do printf ' %s |' "$value"; done
  printf '\n'
}

Rounded() { printf "%.${2:-3}f" "$1"; }

# PrintCommands NAME...: prints the command lines of these servers.
PrintCommands() {
  local name
  for name in "$@"; do echo "    ${started[$name]}"; done
}

# uncontended: server CPU per command --------------------------------------------------------------

# PairsOptions PIPELINE: sets the amount of load, chosen so that a round takes about the same time
# at each pipeline length.
PairsOptions() {
  case $1 in
    1) commands=$([ "$quick" ] && echo 50000 || echo 150000) ;;
    16) commands=$([ "$quick" ] && echo 400000 || echo 1200000) ;;
    64) commands=$([ "$quick" ] && echo 1000000 || echo 3000000) ;;
  esac
  options=(--pipeline "$1" --commands "$commands" --warm-up $((commands / 10)) --connections 50
    --keys 100000 --key-bytes 19 --owner-bytes 32)
}

CpuSection() {
  local rounds=11 round pipeline server ratio shift
  local -a servers=(redis fairlock null table) options
  [ -z "$quick" ] || { rounds=5 && servers=(redis fairlock null); }
  for server in "${servers[@]}"; do Start "$server"; done
  for pipeline in 1 16 64; do
    PairsOptions "$pipeline"
    for ((round = 0; round < rounds; round++)); do
      # The servers run alternately, in a different order each round.
      shift=$((round % ${#servers[@]}))
      for server in "${servers[@]:shift}" "${servers[@]:0:shift}"; do
        Load "$server" pairs "${options[@]}"
        Figure server_cpu_us_per_command >>"$work/cpu.$server.$pipeline"
      done
    done
    for server in "${servers[@]/fairlock/}"; do
      [ -n "$server" ] || continue
      ratio=$(MedianRatio "$work/cpu.fairlock.$pipeline" "$work/cpu.$server.$pipeline")
      Note "cpu.pipeline_$pipeline.of_$server" "$ratio"
      echo "$ratio" >"$work/ratio.$server.$pipeline"
    done
  done
  PrintCpuTable "$rounds" "${servers[@]}"
  for server in "${servers[@]}"; do Stop "$server"; done
}

# CpuCells NAME: prints the median, minimum and maximum at each pipeline length.
CpuCells() {
  local pipeline file
  for pipeline in 1 16 64; do
    file=$work/cpu.$1.$pipeline
    printf '%.3f (%.3f - %.3f)\n' "$(Median <"$file")" "$(sort -g "$file" | head -n 1)" \
      "$(sort -g "$file" | tail -n 1)"
  done
}

# PrintCpuTable ROUNDS SERVER...: measures these servers and prints the table.
PrintCpuTable() {
  local rounds=$1 server
  local -A label=([redis]="$redis_version" [fairlock]=fairlockd [null]="null server"
    [table]="null server that keeps a hash table")
  local -a cells
  shift
  echo "### Uncontended: server CPU, us per command"
  echo
  echo "Lock and unlock of free keys, 50 connections, 100,000 keys (19 bytes), owners of 32 bytes;"
  echo "median (smallest - largest) of $rounds rounds."
  echo
  Row "" "pipeline 1" "16" "64"
  Row "---" "---" "---" "---"
  for server in "$@"; do
    mapfile -t cells < <(CpuCells "$server")
    Row "${label[$server]}" "${cells[@]}"
  done
  for server in "$@"; do
    [ "$server" != fairlock ] || continue
    mapfile -t cells < <(for p in 1 16 64; do
      Rounded "$(cat "$work/ratio.$server.$p")" && echo
    done)
    Row "fairlockd / ${label[$server]}" "${cells[@]}"
  done
  echo
  PrintCommands "$@"
  echo "    fairlock_load pairs --server ... --pipeline P --connections 50 --keys 100000 \\"
  echo "        --key-bytes 19 --owner-bytes 32"
  echo
}

# contended: hand-overs per second on one key ------------------------------------------------------

ContendedSection() {
  local rounds=11 seconds=2 round clients server inversions
  local -a order
  [ -z "$quick" ] || { rounds=5 && seconds=0.4; }
  Start redis
  Start fairlock
  for clients in 10 100 1000; do
    inversions=0
    for ((round = 0; round < rounds; round++)); do
      order=(redis fairlock)
      [ $((round % 2)) = 0 ] || order=(fairlock redis)
      for server in "${order[@]}"; do
        Load "$server" contended --clients "$clients" --seconds "$seconds"
        Figure hand_overs_per_second >>"$work/hand.$server.$clients"
        Figure hand_over_p50_us >>"$work/p50.$server.$clients"
        Figure hand_over_p99_us >>"$work/p99.$server.$clients"
        Figure server_cpu_us_per_hand_over >>"$work/cost.$server.$clients"
        [ "$server" = redis ] || inversions=$((inversions + $(Figure order_inversions)))
      done
    done
    Note "contended.clients_$clients.of_redis" \
      "$(MedianRatio "$work/hand.fairlock.$clients" "$work/hand.redis.$clients")"
    Note "contended.clients_$clients.order_inversions" "$inversions"
    Note "contended.clients_$clients.cpu_of_redis" \
      "$(MedianRatio "$work/cost.fairlock.$clients" "$work/cost.redis.$clients")"
    echo "$inversions" >"$work/inversions.$clients"
  done
  PrintContendedTable "$rounds" "$seconds"
  Stop redis
  Stop fairlock
}

# ContendedCells NAME: prints hand-overs per second, their latency and their CPU at each number of
# clients.
ContendedCells() {
  local n
  for n in 10 100 1000; do
    printf '%.0f/s, p50 %.0f us, p99 %.0f us, CPU %.1f us\n' "$(Median <"$work/hand.$1.$n")" \
      "$(Median <"$work/p50.$1.$n")" "$(Median <"$work/p99.$1.$n")" "$(Median <"$work/cost.$1.$n")"
  done
}

PrintContendedTable() {
  local -a cells
  echo "### Contended: N clients take turns on one key, hold time 0"
  echo
  echo "Latency from sending the release to receiving the next grant; $1 rounds of $2 s."
  echo
  Row "" "N=10" "100" "1,000"
  Row "---" "---" "---" "---"
  mapfile -t cells < <(ContendedCells redis)
  Row "$redis_version, BLPOP and RPUSH of a token" "${cells[@]}"
  mapfile -t cells < <(ContendedCells fairlock)
  Row "fairlockd, LOCK ... WAIT FOREVER and UNLOCK" "${cells[@]}"
  mapfile -t cells < <(for n in 10 100 1000; do
    Rounded "$(MedianRatio "$work/hand.fairlock.$n" "$work/hand.redis.$n")" && echo
  done)
  Row "hand-overs, fairlockd / Redis" "${cells[@]}"
  Row "grants out of order, fairlockd" "$(cat "$work/inversions.10")" \
    "$(cat "$work/inversions.100")" "$(cat "$work/inversions.1000")"
  echo
  PrintCommands redis fairlock
  echo "    fairlock_load contended --server ... --clients N --seconds $2"
  echo
}

# memory of held locks -----------------------------------------------------------------------------

MemorySection() {
  local server
  echo "### Resident memory per held lock, bytes"
  echo
  echo "1,000,000 locks (19-byte key, 32-byte owner), leases of 10 minutes."
  echo
  Row "" "bytes a lock"
  Row "---" "---"
  for server in redis fairlock; do
    Start "$server"
    Load "$server" hold --locks 1000000 --lease-ms 600000 --key-bytes 19 --owner-bytes 32
    Note "memory.$server.bytes_per_lock" "$(Figure resident_bytes_per_lock)"
    Row "$server" "$(Rounded "$(Figure resident_bytes_per_lock)" 0)"
    Stop "$server"
  done
  echo
  PrintCommands redis fairlock
  echo "    fairlock_load hold --server ... --locks 1000000 --lease-ms 600000 \\"
  echo "        --key-bytes 19 --owner-bytes 32"
  echo
}

# many leases that end together --------------------------------------------------------------------

ExpirySection() {
  local lease_ms=10000 ends_at_ns gone_ms
  Start fairlock
  Load fairlock hold --locks 1000000 --lease-ms "$lease_ms" --ends-together
  ends_at_ns=$(Figure ends_at_ns)
  Load fairlock probe --begin-at-ns $((ends_at_ns - 300000000)) --until-empty --seconds 20 \
    --interval-us 500
  [ "$(Figure empty_at_ns)" != 0 ] || Die "expired leases are still counted after 20 s"
  gone_ms=$((($(Figure empty_at_ns) - ends_at_ns) / 1000000))
  Note expiry.ping_p999_us "$(Figure ping_p999_us)"
  Note expiry.ping_max_us "$(Figure ping_max_us)"
  Note expiry.gone_ms "$gone_ms"
  echo "### 1,000,000 leases that end together"
  echo
  Row "PING every 0.5 ms from another connection" "p50" "p99" "p99.9" "longest"
  Row "---" "---" "---" "---" "---"
  Row "us" "$(Figure ping_p50_us)" "$(Figure ping_p99_us)" "$(Figure ping_p999_us)" \
    "$(Figure ping_max_us)"
  echo
  echo "All were removed $gone_ms ms after their end; $(Figure pings) PINGs, from 0.3 s before it"
  echo "to 0.5 s after the removal."
  echo
  PrintCommands fairlock
  echo "    fairlock_load hold --server ... --locks 1000000 --lease-ms $lease_ms --ends-together"
  echo "    fairlock_load probe --server ... --until-empty --interval-us 500"
  echo
  Stop fairlock
}

# connections --------------------------------------------------------------------------------------

# Crowd NAME SERVER OPTION...: opens connections that stay until EndChild "$crowd"; its figures are
# stored as those of Load are.
Crowd() {
  local name=$1 server=$2 tries
  shift 2
  "$bin/fairlock_load" crowd --server "$server" --server-pid "${PID[fairlock]}" "$@" \
    >"$work/$name.out" 2>"$work/$name.err" &
  crowd=$!
  AddChild "$crowd"
  for ((tries = 0; tries < 600; tries++)); do
    grep -q '^ready' "$work/$name.out" 2>/dev/null && break
    kill -0 "$crowd" 2>/dev/null || Die "a crowd has ended: $(cat "$work/$name.err")"
    sleep 0.1
  done
  cp "$work/$name.out" "$work/figures"
}

IdleSection() {
  Start fairlock
  Crowd idle "127.0.0.1:${PORT[fairlock]}" --connections 10000
  Note idle.bytes_per_connection "$(Figure resident_bytes_per_connection)"
  echo "### 10,000 idle connections (TCP, after one reply on each)"
  echo
  echo "$(Rounded "$(Figure resident_bytes_per_connection)" 0) resident bytes per connection."
  echo
  PrintCommands fairlock
  echo "    fairlock_load crowd --server ... --connections 10000"
  echo
  EndChild "$crowd"
  Stop fairlock
}

# InLine: prints how many requests wait for the key.
InLine() {
  redis-cli -s "${SOCKET[fairlock]}" LOCKINFO crowded | grep -A1 '^waiters$' | tail -1
}

WaitersSection() {
  local first second probe
  echo "### 15,000 waiters on one key, over a unix socket"
  echo
  Start fairlock
  redis-cli -s "${SOCKET[fairlock]}" LOCK crowded holder EX 3600 >/dev/null
  Crowd line "${SOCKET[fairlock]}" --connections 15000 --wait-for crowded
  Note waiters.bytes_per_waiter "$(Figure resident_bytes_per_waiter)"
  printf '%.0f resident bytes a waiter, beside the %.0f of its connection.\n' \
    "$(Figure resident_bytes_per_waiter)" "$(Figure resident_bytes_per_connection)"
  EndChild "$crowd"
  Stop fairlock

  Start fairlock
  redis-cli -s "${SOCKET[fairlock]}" LOCK crowded holder EX 3600 >/dev/null
  Crowd first "${SOCKET[fairlock]}" --connections 7500 --wait-for crowded --owner-prefix a
  first=$crowd
  Crowd second "${SOCKET[fairlock]}" --connections 7500 --wait-for crowded --owner-prefix b
  second=$crowd
  [ "$(InLine)" = 15000 ] || Die "$(InLine) clients are waiting instead of 15000"
  "$bin/fairlock_load" probe --server "${SOCKET[fairlock]}" --server-pid "${PID[fairlock]}" \
    --interval-us 500 --seconds 2 >"$work/figures" &
  probe=$!
  AddChild "$probe"
  sleep 0.5
  kill -KILL "$first"
  wait "$first" 2>/dev/null
  wait "$probe" || Die "the probe failed"
  [ "$(InLine)" = 7500 ] || Die "$(InLine) clients are waiting instead of 7500"
  Note waiters.stall_us "$(Figure ping_max_us)"
  echo "When the process of 7,500 waiters is killed, the slowest of $(Figure pings) PINGs from"
  echo "another connection takes $(Figure ping_max_us) us (median $(Figure ping_p50_us))."
  echo
  PrintCommands fairlock
  echo "    fairlock_load crowd --server SOCKET --connections 15000 --wait-for crowded"
  echo "    fairlock_load crowd --server SOCKET --connections 7500 --wait-for crowded \\"
  echo "        --owner-prefix a    (and once more with b)"
  echo "    fairlock_load probe --server SOCKET --interval-us 500 --seconds 2"
  echo
  EndChild "$second"
  Stop fairlock
}

# the engine alone ---------------------------------------------------------------------------------

EngineSection() {
  local operation places
  local -A ns
  "$bin/engine_bench" --benchmark_filter=Line/ --benchmark_format=csv \
    --benchmark_min_time="$([ "$quick" ] && echo 0.05 || echo 1)" >"$work/engine.csv" 2>/dev/null ||
    Die "engine_bench failed"
  echo "### A long queue in the engine: CPU ns per step, by length of the queue"
  echo
  Row "" "10" "1,000" "1,000,000"
  Row "---" "---" "---" "---"
  for operation in CancelAndJoin HandOverAndJoin; do
    for places in 10 1000 1000000; do
      ns[$places]=$(awk -F, -v name="\"Line/$operation/$places\"" '$1 == name { print $4 }' \
        "$work/engine.csv")
    done
    Note "engine.$operation.million_of_thousand" \
      "$(awk -v a="${ns[1000000]}" -v b="${ns[1000]}" 'BEGIN { print a / b }')"
    Row "$operation" "$(Rounded "${ns[10]}" 0)" "$(Rounded "${ns[1000]}" 0)" \
      "$(Rounded "${ns[1000000]}" 0)"
  done
  echo
  echo "    engine_bench --benchmark_filter=Line/"
  echo
}

redis_version="Redis $(redis-server --version | sed 's/.*v=\([0-9.]*\).*/\1/')"
for section in "${sections[@]}"; do
  case $section in
    cpu) CpuSection ;;
    redis_way) RedisWaySection ;;
    durable) DurableSection ;;
    script) ScriptSection ;;
    tls) TlsSection ;;
    contended) ContendedSection ;;
    memory) MemorySection ;;
    expiry) ExpirySection ;;
    idle) IdleSection ;;
    waiters) WaitersSection ;;
    engine) EngineSection ;;
    *) Die "there is no section '$section'" ;;
  esac
done
