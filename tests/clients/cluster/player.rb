# Drives the cluster mode of the gem redis, as player.md describes.
require "json"
require "redis"

NODES = ENV.fetch("NODES").split(",").map { |address| "redis://#{address}" }

# The gem finds the keys of a command only if its name is in lower case.
def lower(words)
  [words[0].downcase, *words[1..]]
end

def fill(pipeline, commands)
  commands.each { |words| pipeline.call(*lower(words)) }
end

def answer(client, request)
  case request.keys.first
  when "call" then client.call(*request["call"])
  when "pipeline" then client.pipelined { |pipeline| fill(pipeline, request["pipeline"]) }
  when "transaction" then client.multi { |pipeline| fill(pipeline, request["transaction"]) }
  end
end

$stdout.sync = true
client = Redis.new(cluster: NODES)
$stdin.each_line do |line|
  begin
    result = { reply: answer(client, JSON.parse(line)) }
  # The gem may also raise its own Redis::Cluster::Node::ReloadNeeded, which is no BaseError.
  rescue StandardError => error
    result = { error: "#{error.class}: #{error.message}" }
  end
  puts JSON.generate(result)
end
