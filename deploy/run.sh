#!/usr/bin/env bash
# Installs what is missing, builds fairlockd and runs it; Ctrl-C stops it.
#
#   deploy/run.sh [OPTION...]    the options are fairlockd's (see fairlockd --help)
#
# Its data is in ./data of the checkout. Once it answers, three commands to try are printed.
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/install-packages.sh build run

# The tests and benchmarks need packages that the server does not; deploy/test.sh turns them on.
if [ ! -f build/release/build.ninja ]; then
  cmake --preset release -DFAIRLOCK_TESTS=OFF -DFAIRLOCK_BENCH=OFF
fi
cmake --build build/release --target fairlockd
mkdir -p data

# Where the server will answer: the options decide, else the defaults.
port=3247
host=127.0.0.1
previous=
for argument in "$@"; do
  case "$previous $argument" in
    "--port "*) port=$argument ;;
    "--bind "*) host=$argument ;;
    *" --port="*) port=${argument#*=} ;;
    *" --bind="*) host=${argument#*=} ;;
  esac
  previous=$argument
done
host=${host%%,*}
host=${host#-}
case $host in
  "" | 0.0.0.0 | :: | "*") host=127.0.0.1 ;;
esac

# IsReady PID: the server that answers is the process PID, and not another one on the same port, and
# has read its locks.
IsReady() {
  timeout 1 redis-cli -h "$host" -p "$port" INFO server persistence 2>/dev/null | tr -d '\r' |
    grep -cxE "process_id:$1|loading:0" | grep -qx 2
}

PrintCommandsWhenReady() {
  local server=$1 cli="redis-cli -p $port" tries
  [ "$host" = 127.0.0.1 ] || cli="redis-cli -h $host -p $port"
  for ((tries = 0; tries < 600; tries++)); do
    kill -0 "$server" 2>/dev/null || return 0
    if IsReady "$server"; then
      printf '%s\n' "" "fairlock is ready. Open two terminals and paste:" "" \
        "  first    $cli LOCK order:42 worker-1 EX 300" \
        "  second   $cli LOCK order:42 worker-2 WAIT 300s    (waits for worker-1)" \
        "  first    $cli UNLOCK order:42 worker-1            (worker-2 gets its token)" ""
      return 0
    fi
    sleep 0.1
  done
}

# In a grandchild, which is init's to bury: the server has this process's id and knows no children.
(PrintCommandsWhenReady $$ &)
exec build/release/bin/fairlockd "$@"
