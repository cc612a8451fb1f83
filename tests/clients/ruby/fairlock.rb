# fairlock's native commands through the redis gem, in a client as an application would write it.

require "connection_pool"
require "redis"

# Thread-safe. A thread that waits for a lock occupies one connection of the pool.
class Fairlock
  # The read time-out is the wait plus this many seconds; otherwise the gem would give up first.
  REPLY_S = 5

  def initialize(port:, host: "127.0.0.1", connections: 25)
    @pool = ConnectionPool.new(size: connections, timeout: REPLY_S) do
      Redis.new(host: host, port: port, timeout: REPLY_S)
    end
  end

  # Within the block, all calls by this thread use one connection, as SESSION requires.
  def on_one_connection(&block) = @pool.with { block.call }

  # Returns the token, or nil if the lock was denied. Durations are in ms. The options are those of
  # the command: px, wait, keep, limit, minhold, label, meta; session and new are given as true.
  def lock(key, owner, **options)
    call("LOCK", key, owner, *words_of(options), wait_ms: options[:wait] || 0)
  end

  # Like lock, but returns details: a hash with "status", "token", "position", "eta_ms", "holders"
  # ...
  def explain_lock(key, owner, **options)
    map_of(call("LOCK", key, owner, *words_of(options), "EXPLAIN", wait_ms: options[:wait] || 0))
  end

  def unlock(key, owner) = call("UNLOCK", key, owner) == 1

  # Takes no lock; returns whether the current holds ended within that time.
  def wait(key, ms) = call("WAIT", key, "TIMEOUT", ms, wait_ms: ms) == 1

  # Holds the lock during the block; if the lock was denied, returns nil without calling the block.
  def with_lock(key, owner, **options)
    return unless (token = lock(key, owner, **options))

    begin
      yield token
    ensure
      unlock(key, owner)
    end
  end

  def info(key) = map_of(call("LOCKINFO", key))

  # Sends any command; returns the server's reply.
  def call(*words, wait_ms: 0)
    @pool.with do |redis|
      redis._client.call_with_timeout(words, (wait_ms / 1000.0).ceil + 1)
    end
  end

  # Sends several commands at once, without waiting for each reply.
  def pipelined(commands)
    @pool.with { |redis| redis.pipelined { |pipe| commands.each { |words| pipe.call(words) } } }
  end

  def close = @pool.shutdown(&:close)

  private

  def words_of(options)
    options.compact.flat_map do |name, value|
      value == true ? [name.to_s.upcase] : [name.to_s.upcase, value]
    end
  end

  # RESP2 has no maps, so fields and values alternate.
  def map_of(reply)
    map = reply.each_slice(2).to_h
    map["holders"] &&= map["holders"].map { |holder| holder.each_slice(2).to_h }
    map
  end
end
