# Waits for a lock through the redis gem, with its own idea of how long a reply may take.
#
#   impatient_waiter.rb PORT KEY OWNER
#
# Prints a line for each thing that happens: "timeout N", then "granted TOKEN" and "released".

require "redis"

port, key, owner = ARGV
# Five seconds for a reply unless told otherwise; no attempt of the gem's own to ask again.
redis = Redis.new(host: "127.0.0.1", port: port.to_i, reconnect_attempts: 0)
$stdout.sync = true

timeouts = 0
begin
  token = redis.call("LOCK", key, owner, "WAIT", "60s")
rescue Redis::TimeoutError
  # The gem has closed the connection: the same question again, on another one.
  timeouts += 1
  puts "timeout #{timeouts}"
  retry
end
puts "granted #{token}"
sleep 0.2
redis.call("UNLOCK", key, owner)
puts "released"
