# Part of compare.sh: server CPU for a lock that is released by EVALSHA.

release_script="if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) \
else return 0 end"

ScriptSection() {
  local rounds=11 round pipeline server order dialect=script
  local -a options
  [ -z "$quick" ] || rounds=5
  for server in redis fairlock; do
    Start "$server"
    redis-cli -s "${SOCKET[$server]}" SCRIPT LOAD "$release_script" >/dev/null
  done
  for pipeline in 1 16 64; do
    PairsOptions "$pipeline"
    for ((round = 0; round < rounds; round++)); do
      order="redis fairlock"
      [ $((round % 2)) = 0 ] || order="fairlock redis"
      for server in $order; do
        Load "$server" pairs "${options[@]}"
        Figure server_cpu_us_per_command >>"$work/script.$server.$pipeline"
      done
    done
    Note "script.pipeline_$pipeline.of_redis" \
      "$(MedianRatio "$work/script.fairlock.$pipeline" "$work/script.redis.$pipeline")"
  done
  PrintScriptTable "$rounds"
  Stop redis
  Stop fairlock
}

PrintScriptTable() {
  local -a cells
  echo "### Scripts: server CPU, us per command"
  echo
  echo "SET NX PX of free keys, and EVALSHA of a script that compares and deletes; setup as"
  echo "above, medians of $1 rounds."
  echo
  Row "" "pipeline 1" "16" "64"
  Row "---" "---" "---" "---"
  for server in redis fairlock; do
    mapfile -t cells < <(for p in 1 16 64; do
      Rounded "$(Median <"$work/script.$server.$p")" && echo
    done)
    Row "$server" "${cells[@]}"
  done
  mapfile -t cells < <(for p in 1 16 64; do
    Rounded "$(MedianRatio "$work/script.fairlock.$p" "$work/script.redis.$p")" && echo
  done)
  Row "fairlockd / $redis_version" "${cells[@]}"
  echo
  PrintCommands redis fairlock
  echo "    fairlock_load pairs --dialect script --server ... --pipeline P --connections 50 \\"
  echo "        --keys 100000 --key-bytes 19 --owner-bytes 32"
  echo
}
