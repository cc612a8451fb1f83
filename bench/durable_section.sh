# Part of compare.sh: commands per second and server CPU with a journal.

# A key is released at least 1,000 commands after it was acquired: 50 connections hold 20 locks
# each.
DurableSection() {
  local rounds=11 mode peer round pipeline server ratio
  local -a servers options
  [ -z "$quick" ] || rounds=3
  echo "### Durable"
  echo
  echo "50 connections, a key is released 1,000 pairs after it was acquired; medians of $rounds"
  echo "paired rounds: commands per second, and server CPU in us per command"
  [ -z "$slow_sync" ] || echo "Each sync takes $slow_sync us longer."
  echo
  Row "" "pipeline 1" "16"
  Row --- --- ---
  for mode in sync:always async:everysec; do
    servers=("fairlock-${mode%:*}" "redis-${mode#*:}")
    for server in "${servers[@]}"; do Start "$server"; done
    for pipeline in 1 16; do
      commands=$([ "$quick" ] && echo 40000 || echo 200000)
      options=(--pipeline "$pipeline" --commands "$commands" --warm-up $((commands / 10))
        --connections 50 --keys 100000 --key-bytes 19 --owner-bytes 32 --ahead 20)
      for ((round = 0; round < rounds; round++)); do
        for server in "${servers[@]:round % 2}" "${servers[@]:0:round % 2}"; do
          Load "$server" pairs "${options[@]}"
          Figure commands_per_second >>"$work/durable.$server.$pipeline.speed"
          Figure server_cpu_us_per_command >>"$work/durable.$server.$pipeline.cpu"
        done
      done
      for figure in speed cpu; do
        ratio=$(MedianRatio "$work/durable.${servers[0]}.$pipeline.$figure" \
          "$work/durable.${servers[1]}.$pipeline.$figure")
        Note "durable.${mode%:*}.pipeline_$pipeline.${figure}_of_redis" "$ratio"
        echo "$ratio" >"$work/durable.ratio.${mode%:*}.$pipeline.$figure"
      done
    done
    for server in "${servers[@]}"; do
      Row "$server" "$(DurableCell "$server" 1)" "$(DurableCell "$server" 16)"
      Stop "$server"
    done
    Row "ratio" "$(DurableRatio "${mode%:*}" 1)" "$(DurableRatio "${mode%:*}" 16)"
  done
  echo
  PrintCommands fairlock-sync redis-always fairlock-async redis-everysec
  echo
}

# DurableCell SERVER PIPELINE, DurableRatio MODE PIPELINE: print speed and CPU.
DurableCell() {
  printf '%.0f/s, %.2f us' "$(Median <"$work/durable.$1.$2.speed")" \
    "$(Median <"$work/durable.$1.$2.cpu")"
}
DurableRatio() {
  printf '%.2f, %.2f' "$(cat "$work/durable.ratio.$1.$2.speed")" \
    "$(cat "$work/durable.ratio.$1.$2.cpu")"
}
