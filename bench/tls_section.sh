# Part of compare.sh: server CPU of locking over TLS.

# MakeCertificate: creates the self-signed $work/tls.crt and its key $work/tls.key.
MakeCertificate() {
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
    -keyout "$work/tls.key" -out "$work/tls.crt" 2>/dev/null ||
    Die "openssl cannot create a certificate"
}

# CpuNs NAME: prints the CPU time of all threads of the server so far.
CpuNs() { cat /proc/"${PID[$1]}"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f", ns }'; }

# TlsRound NAME PIPELINE COMMANDS: prints the server CPU per command, in us, for locking and
# unlocking. It includes 50 handshakes per round.
TlsRound() {
  local before after
  local -a take give
  if [ "$1" = tls-redis ]; then
    take=(SET key:__rand_int__ owner-of-thirty-two-bytes-exactly NX PX 600000)
    give=(DEL key:__rand_int__)
  else
    take=(LOCK key:__rand_int__ owner-of-thirty-two-bytes-exactly PX 600000)
    give=(UNLOCK key:__rand_int__ owner-of-thirty-two-bytes-exactly)
  fi
  before=$(CpuNs "$1")
  TlsLoad "$1" "$2" "$3" "${take[@]}"
  TlsLoad "$1" "$2" "$3" "${give[@]}"
  after=$(CpuNs "$1")
  awk -v ns=$((after - before)) -v commands=$((2 * $3)) 'BEGIN { print ns / 1000 / commands }'
}

# TlsLoad NAME PIPELINE COMMANDS WORD...: runs the load generator over TLS.
TlsLoad() {
  redis-benchmark --tls --cacert "$work/tls.crt" -h 127.0.0.1 -p "${PORT[$1]}" -c 50 -P "$2" \
    -n "$3" -r 100000 -q "${@:4}" >"$work/tls.out" 2>&1 ||
    Die "redis-benchmark: $(cat "$work/tls.out")"
  ! grep -qi error "$work/tls.out" || Die "redis-benchmark: $(cat "$work/tls.out")"
}

TlsSection() {
  local rounds=11 round pipeline server order commands
  [ -z "$quick" ] || rounds=5
  MakeCertificate
  for server in tls-redis tls-fairlock; do Start "$server"; done
  for pipeline in 1 16 64; do
    PairsOptions "$pipeline"
    commands=$((commands / 4))
    for ((round = 0; round < rounds; round++)); do
      order="tls-redis tls-fairlock"
      [ $((round % 2)) = 0 ] || order="tls-fairlock tls-redis"
      for server in $order; do
        TlsRound "$server" "$pipeline" "$commands" >>"$work/cpu.$server.$pipeline"
      done
    done
    Note "tls.pipeline_$pipeline.of_redis" \
      "$(MedianRatio "$work/cpu.tls-fairlock.$pipeline" "$work/cpu.tls-redis.$pipeline")"
  done
  PrintTlsTable "$rounds"
  for server in tls-redis tls-fairlock; do Stop "$server"; done
  StormPart "$rounds"
}

# locking during a storm of handshakes -------------------------------------------------------------

storm_clients=4

# BeginStorm NAME: starts clients that only do handshakes. In reality they would run on another
# machine, so here they run with the lowest priority.
BeginStorm() {
  local n
  storm=()
  for ((n = 0; n < storm_clients; n++)); do
    nice -n 19 openssl s_time -connect "127.0.0.1:$((PORT[$1] - 10000))" -new -time 600 \
      >"$work/storm.$n" 2>&1 &
    storm+=($!)
    AddChild $!
  done
}

EndStorm() {
  local one
  for one in "${storm[@]}"; do EndChild "$one"; done
}

# ProbeBesideLocks NAME: prints the p99 of PING in us while other clients lock and unlock.
ProbeBesideLocks() {
  local load
  "$bin/fairlock_load" pairs --server "127.0.0.1:${PORT[$1]}" --server-pid "${PID[$1]}" \
    --dialect "${1#storm-}" --pipeline 1 --commands 10000000 --connections 10 >"$work/pairs" 2>&1 &
  load=$!
  AddChild $load
  Load "$1" probe --seconds "$storm_seconds"
  EndChild $load
  Figure ping_p99_us
}

# StormPart ROUNDS: runs the storm rounds and prints their table.
StormPart() {
  local round server storm_seconds=4
  local -a storm
  [ -z "$quick" ] || storm_seconds=2
  for server in storm-redis storm-fairlock; do
    Start "$server"
    for ((round = 0; round < $1; round++)); do
      ProbeBesideLocks "$server" >>"$work/calm.$server"
      BeginStorm "$server"
      ProbeBesideLocks "$server" >>"$work/stormy.$server"
      EndStorm
    done
    Note "tls.storm_p99_of_calm.${server#storm-}" \
      "$(MedianRatio "$work/stormy.$server" "$work/calm.$server")"
    Stop "$server"
  done
  PrintStormTable "$1"
}

PrintStormTable() {
  echo "### The effect of $storm_clients clients that only do handshakes"
  echo
  echo "p99 of a PING every millisecond, without TLS, while 10 connections lock and unlock;"
  echo "us, medians of $1 rounds, and of their ratios."
  echo
  Row "" "without them" "beside them" "ratio"
  Row "---" "---" "---" "---"
  for server in storm-redis storm-fairlock; do
    Row "${server#storm-}" "$(Rounded "$(Median <"$work/calm.$server")" 0)" \
      "$(Rounded "$(Median <"$work/stormy.$server")" 0)" \
      "$(Rounded "$(MedianRatio "$work/stormy.$server" "$work/calm.$server")" 2)"
  done
  echo
  PrintCommands storm-redis storm-fairlock
  echo "    openssl s_time -connect ... -new"
  echo "    fairlock_load pairs --pipeline 1 --connections 10; fairlock_load probe"
  echo
}

PrintTlsTable() {
  local -a cells
  echo "### TLS: server CPU, us per command"
  echo
  echo "TLS 1.3, a key of RSA 2048. LOCK and UNLOCK, SET NX PX and DEL on Redis, of 100,000 keys,"
  echo "50 connections; median (smallest - largest) of $1 rounds."
  echo
  Row "" "pipeline 1" "16" "64"
  Row "---" "---" "---" "---"
  mapfile -t cells < <(CpuCells tls-redis)
  Row "$redis_version" "${cells[@]}"
  mapfile -t cells < <(CpuCells tls-fairlock)
  Row "fairlockd" "${cells[@]}"
  mapfile -t cells < <(for p in 1 16 64; do
    Rounded "$(MedianRatio "$work/cpu.tls-fairlock.$p" "$work/cpu.tls-redis.$p")" && echo
  done)
  Row "fairlockd / $redis_version" "${cells[@]}"
  echo
  PrintCommands tls-redis tls-fairlock
  echo "    redis-benchmark --tls --cacert tls.crt -p ... -c 50 -P P -r 100000 -n N COMMAND"
  echo
}
