# A lock with SET NX and DEL, as applications write it for Redis. It knows no owners and has no
# queue.

require "redis"

class LockManager
  TIMEOUT_S = 1

  def initialize(redis) = @redis = redis

  # Returns false if the key exists.
  def lock(key, timeout_s = TIMEOUT_S)
    @redis.set(key, Time.now.to_f.to_s, nx: true, ex: timeout_s)
  end

  def unlock(key)
    @redis.del(key)
    true
  end

  def locked?(key) = @redis.exists?(key)
end
