# Part of compare.sh: locking the Redis way, with SET NX PX and DEL, on fairlockd and on
# redis-server.

RedisWaySection() {
  local rounds=11 round pipeline server ratio
  local -a servers=(redis redis-way) options cells
  [ -z "$quick" ] || rounds=5
  for server in "${servers[@]}"; do Start "$server"; done
  for pipeline in 1 16 64; do
    PairsOptions "$pipeline"
    for ((round = 0; round < rounds; round++)); do
      # The servers run alternately, in a different order each round.
      for server in "${servers[@]:round % 2}" "${servers[@]:0:round % 2}"; do
        Load "$server" pairs "${options[@]}"
        Figure server_cpu_us_per_command >>"$work/cpu.$server.way.$pipeline"
      done
    done
    ratio=$(MedianRatio "$work/cpu.redis-way.way.$pipeline" "$work/cpu.redis.way.$pipeline")
    Note "redis_way.pipeline_$pipeline.of_redis" "$ratio"
    cells+=("$(Rounded "$ratio")")
  done
  echo "### The Redis way: server CPU of SET NX PX and DEL, fairlockd / $redis_version"
  echo
  echo "50 connections, 100,000 keys (19 bytes), values of 32 bytes; $rounds rounds."
  echo
  Row "" "pipeline 1" "16" "64"
  Row "---" "---" "---" "---"
  Row "fairlockd / Redis" "${cells[@]}"
  echo
  PrintCommands "${servers[@]}"
  for server in "${servers[@]}"; do Stop "$server"; done
}
