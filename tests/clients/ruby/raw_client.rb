# Sends fairlock's commands as they are: the tests' view of the server from outside.

require "connection_pool"
require "redis"

# Thread-safe. A thread that waits for a lock occupies one connection of the pool.
class RawClient
  # The read time-out is the wait plus this many seconds; otherwise the gem would give up first.
  REPLY_S = 5

  def initialize(port:, connections: 25)
    @pool = ConnectionPool.new(size: connections, timeout: REPLY_S) do
      Redis.new(port: port, timeout: REPLY_S, protocol: 2)
    end
  end

  # Returns the token, or nil if the lock was denied. Durations are in ms.
  def lock(key, owner, px: nil, wait: nil)
    words = { "PX" => px, "WAIT" => wait }.compact.flatten
    call("LOCK", key, owner, *words, wait_ms: wait || 0)
  end

  def unlock(key, owner) = call("UNLOCK", key, owner) == 1

  def info(key)
    map = call("LOCKINFO", key).each_slice(2).to_h
    map["holders"] = map["holders"].map { |holder| holder.each_slice(2).to_h }
    map
  end

  # Sends any command; returns the server's reply.
  def call(*words, wait_ms: 0)
    @pool.with do |redis|
      wait_s = (wait_ms / 1000.0).ceil + 1
      client = redis._client
      if client.respond_to?(:blocking_call_v) # true from version 5 of the gem on
        client.blocking_call_v(wait_s, words)
      else
        client.call_with_timeout(words, wait_s)
      end
    end
  end

  # Sends several commands at once, without waiting for each reply.
  def pipelined(commands)
    @pool.with { |redis| redis.pipelined { |pipe| commands.each { |words| pipe.call(words) } } }
  end

  def close = @pool.shutdown(&:close)
end
