# Unique jobs on Redis, for comparison: each step is one Lua script, which also counts events.
#
# Each digest has a hash that maps job ids to metadata. There is a sorted set of all digests, and
# for each minute a hash of counters, which is kept for eight hours.

require "connection_pool"
require "digest"
require "json"
require "redis"

class RedisStore
  INDEX = "unique:digests".freeze
  COUNTERS_S = 8 * 3600

  COUNT = <<~LUA.freeze
    local function count(what)
      redis.call('HINCRBY', KEYS[3], what, 1)
      redis.call('EXPIRE', KEYS[3], #{COUNTERS_S})
    end
  LUA

  LOCK = <<~LUA.freeze
    #{COUNT}
    local jid, limit, meta, ttl, now, type = unpack(ARGV)
    if redis.call('HEXISTS', KEYS[1], jid) == 1 then
      return 1
    end
    if redis.call('HLEN', KEYS[1]) >= tonumber(limit) then
      count(type .. '|denied')
      return 0
    end
    redis.call('HSET', KEYS[1], jid, meta)
    redis.call('ZADD', KEYS[2], now, KEYS[1])
    redis.call('PEXPIRE', KEYS[1], ttl)
    count(type .. '|acquired')
    return 1
  LUA

  UNLOCK = <<~LUA.freeze
    #{COUNT}
    local jid, type = unpack(ARGV)
    if redis.call('HDEL', KEYS[1], jid) == 0 then
      return 0
    end
    if redis.call('HLEN', KEYS[1]) == 0 then
      redis.call('DEL', KEYS[1])
      redis.call('ZREM', KEYS[2], KEYS[1])
    end
    count(type .. '|released')
    return 1
  LUA

  def initialize(port:, connections: 25)
    @pool = ConnectionPool.new(size: connections, timeout: 5) { Redis.new(port: port, timeout: 5) }
    @digests = [LOCK, UNLOCK].to_h { |script| [script, Digest::SHA1.hexdigest(script)] }
    @pool.with { |redis| @digests.each_key { |script| redis.script(:load, script) } }
  end

  def lock(digest, jid, type:, limit:, ttl:, meta:, **)
    run(LOCK, digest, jid, limit, JSON.generate(meta), (ttl * 1000).ceil, Time.now.to_f, type) == 1
  end

  def unlock(digest, jid, type:) = run(UNLOCK, digest, jid, type) == 1

  # Redis has no sessions: if this process dies, the hold ends only when its time to live is over.
  def hold(digest, jid, type:, limit:, meta:, ttl: 30, **)
    return false unless lock(digest, jid, type: type, limit: limit, ttl: ttl, meta: meta)

    begin
      yield
    ensure
      unlock(digest, jid, type: type)
    end
    true
  end

  def ttl_ms(digest) = @pool.with { |redis| redis.pttl(digest) }

  def close = @pool.shutdown(&:close)

  private

  def run(script, digest, *arguments)
    keys = [digest, INDEX, "unique:counters:#{Time.now.to_i / 60}"]
    @pool.with { |redis| redis.evalsha(@digests[script], keys: keys, argv: arguments) }
  end
end
