# Takes locks from the leader, which it finds through Sentinel. Prints the node of each lock, once
# for each change.
require "redis"

password = ENV.fetch("PASSWORD")
password = nil if password.empty?
sentinels = ENV.fetch("SENTINELS").split(",").map do |address|
  host, port = address.split(":")
  { host: host, port: port.to_i, password: password }
end
client = Redis.new(url: "redis://main", sentinels: sentinels, role: :master, password: password)
Thread.new { exit!(0) unless $stdin.read.nil? }
$stdout.sync = true
last = nil
loop do
  begin
    client.call("LOCK", "order:42", "gem", "PX", 1000)
    node = client.info("cluster").fetch("fleet_node")
    puts(last = node) if node != last
  rescue Redis::BaseConnectionError, Redis::CommandError
    # The client connects again by itself.
  end
  sleep 0.01
end
