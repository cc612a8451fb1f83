# A lock of SET NX and DEL, as applications with Redis write it. It knows no owner and no line.

require "redis"

class LockManager
  TIMEOUT_S = 1

  def initialize(redis) = @redis = redis

  # False if the key is there.
  def lock(key, timeout_s = TIMEOUT_S)
    @redis.set(key, Time.now.to_f.to_s, nx: true, ex: timeout_s)
  end

  def unlock(key)
    @redis.del(key)
    true
  end

  def locked?(key) = @redis.exists?(key)
end
