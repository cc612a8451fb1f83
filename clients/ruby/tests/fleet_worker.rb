# frozen_string_literal: true

# Holds a lock and waits for it while fleet_test.py kills the leader of the fleet.

$LOAD_PATH.unshift(File.join(__dir__, "../lib"))
require "fairlock"

require_relative "readme_examples"

$stdout.sync = true
sentinels = ENV.fetch("SENTINEL_PORTS").split(",").map { |port| { host: "127.0.0.1", port: port } }
example = ReadmeExamples.all.find { |text| text.include?("sentinels") }
list = example[/^sentinels = (.*)$/, 1]
puts "readme: #{ReadmeExamples.run(example, list => sentinels.inspect).size}"

redis = Redis.new(url: "redis://main", sentinels: sentinels, role: :master)
lost = Queue.new
holder = Fairlock.lock(redis, "k", lease: 10, on_lost: lost.method(:<<)).acquire
waiter = Thread.new do
  Fairlock.lock(redis, "k", owner: "waiter", keep: 60, wait: 60, &:token)
end
sleep 0.01 until redis.call("POSITION", "k", "waiter") == 1
puts "waits"
$stdin.gets

sleep 0.05 until begin
  redis.call("POSITION", "k", "waiter") == 1
rescue Redis::BaseError
  false
end
holder.renew
token = holder.token
puts "held: #{holder.release}, rising: #{waiter.value > token}, lost: #{lost.size}"
