# Waits for a lock through the redis gem, with the gem's own read time-out.
#
#     impatient_waiter.rb PORT KEY OWNER
#
# Prints a line for each event: "timeout N", then "granted TOKEN" and "released".

require "redis"

port, key, owner = ARGV
# The default read time-out is five seconds; the gem must not repeat the request by itself.
redis = Redis.new(host: "127.0.0.1", port: port.to_i, reconnect_attempts: 0)
$stdout.sync = true

timeouts = 0
begin
  token = redis.call("LOCK", key, owner, "WAIT", "60s")
rescue Redis::TimeoutError
  # The gem has closed the connection: repeats the request on a new one.
  timeouts += 1
  puts "timeout #{timeouts}"
  retry
end
puts "granted #{token}"
sleep 0.2
redis.call("UNLOCK", key, owner)
puts "released"
