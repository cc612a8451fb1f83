#!/usr/bin/env bash
# Installs missing packages, builds fairlockd and fairlockctl, and runs the server; Ctrl-C stops it.
#
#   deploy/run.sh [OPTION...]    the options are fairlockd's (see fairlockd --help)
#
# The data is in ./data of the checkout, fairlockctl in build/release/bin. Once the server answers,
# prints commands to try, and the address of the dashboard. The first build takes four minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/install-packages.sh build run

# The tests and benchmarks need packages that the server does not; deploy/test.sh enables them.
if [ ! -f build/release/build.ninja ]; then
  echo "This builds fairlockd and fairlockctl, which takes about four minutes with two" \
    "processors, and runs the server."
  cmake --preset release -DFAIRLOCK_TESTS=OFF -DFAIRLOCK_BENCH=OFF
fi
cmake --build build/release --target fairlockd fairlockctl
mkdir -p data

# The address where the server will answer: from the options, or the defaults.
port=3247
host=127.0.0.1
http_port=3248
http_host=127.0.0.1
http_scheme=http
token_file=
previous=
for argument in "$@"; do
  case "$previous $argument" in
    "--port "*) port=$argument ;;
    "--bind "*) host=$argument ;;
    "--http-port "*) http_port=$argument ;;
    "--http-bind "*) http_host=$argument ;;
    "--http-token-file "*) token_file=$argument ;;
    "--http-tls yes" | *" --http-tls=yes") http_scheme=https ;;
    "--http-tls "* | *" --http-tls="*) http_scheme=http ;;
    *" --port="*) port=${argument#*=} ;;
    *" --http-port="*) http_port=${argument#*=} ;;
    *" --http-bind="*) http_host=${argument#*=} ;;
    *" --http-token-file="*) token_file=${argument#*=} ;;
    *" --bind="*) host=${argument#*=} ;;
  esac
  previous=$argument
done

# Reachable ADDRESSES: the first of them, in a form that works from this machine.
Reachable() {
  local first=${1%%,*}
  first=${first#-}
  case $first in
    "" | 0.0.0.0 | :: | "*") first=127.0.0.1 ;;
    *:*) first=[$first] ;;
  esac
  echo "$first"
}
host=$(Reachable "$host")
host=${host//[\[\]]/}
http_host=$(Reachable "$http_host")

# The token that allows breaking locks in the browser; created once. An options file may name
# another one.
if [ -z "$token_file" ] && [[ " $*" != *" --config"* ]]; then
  token_file=$PWD/data.token
  [ -s "$token_file" ] || (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$token_file")
  set -- "$@" --http-token-file "$token_file"
fi

# IsReady PID: whether the process PID itself, not another one on the same port, answers and has
# loaded its locks.
IsReady() {
  timeout 1 redis-cli -h "$host" -p "$port" INFO server persistence 2>/dev/null | tr -d '\r' |
    grep -cxE "process_id:$1|loading:0" | grep -qx 2
}

PrintCommandsWhenReady() {
  local server=$1 cli="redis-cli -p $port" ctl=build/release/bin/fairlockctl tries
  [ "$port" = 3247 ] || ctl+=" --port $port"
  [ "$host" = 127.0.0.1 ] || { cli="redis-cli -h $host -p $port" && ctl+=" --host $host"; }
  for ((tries = 0; tries < 600; tries++)); do
    kill -0 "$server" 2>/dev/null || return 0
    if IsReady "$server"; then
      printf '%s\n' "" "fairlock is ready. Open two terminals and paste:" "" \
        "  first    $cli LOCK order:42 worker-1 EX 300" \
        "  second   $cli LOCK order:42 worker-2 WAIT 300s    (waits for worker-1)" \
        "  first    $cli UNLOCK order:42 worker-1            (worker-2 gets its token)" "" \
        "Who holds what and who waits for it, live:" "" "  $ctl top" ""
      [ "$http_port" = 0 ] || printf '%s\n' "Who waits, and for whom, in a browser:" "" \
        "  $http_scheme://$http_host:$http_port/${token_file:+#token=$(cat "$token_file")}" ""
      return 0
    fi
    sleep 0.1
  done
}

# Runs in a grandchild, which init reaps: exec gives this process's ID to the server, which expects
# no children.
(PrintCommandsWhenReady $$ &)
exec build/release/bin/fairlockd "$@"
