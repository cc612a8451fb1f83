# Takes and releases locks with the gem redis, as worker.md describes.
require "json"
require "redis"

OWNER = ENV.fetch("OWNER")
KEYS = ENV.fetch("KEYS").split(",")

def address(text)
  host, port = text.split(":")
  { host: host, port: port.to_i }
end

def new_client
  return Redis.new(address(ENV.fetch("NODE"))) unless ENV.fetch("MODE") == "sentinel"

  sentinels = ENV.fetch("SENTINELS").split(",").map { |text| address(text) }
  Redis.new(url: "redis://main", sentinels: sentinels, role: :master)
end

CLIENT = new_client

def microseconds
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :microsecond)
end

# Repeats the request until it is answered.
def ask(*words)
  loop do
    line = { op: words[0], key: words[1], begun: microseconds }
    begin
      line[:reply] = CLIENT.call(*words)
    rescue Redis::BaseError => error
      line[:error] = "#{error.class}: #{error.message}"
    end
    line[:ended] = microseconds
    puts JSON.generate(line)
    return line[:reply] if line.key?(:reply)

    sleep 0.01
  end
end

$stdout.sync = true
is_over = false
Thread.new do
  $stdin.read
  is_over = true
end
held_key = "#{OWNER}:held"
held = ask("LOCK", held_key, OWNER, "PX", 600_000)
KEYS.cycle do |key|
  token = ask("LOCK", key, OWNER, "PX", 30_000, "WAIT", "200ms")
  if token
    sleep 0.005
    ask("CHECK", key, token)
    ask("UNLOCK", key, OWNER)
  end
  ask("RENEW", held_key, OWNER, "PX", 600_000, "TOKEN", held)
  break if is_over

  sleep 0.02
end
