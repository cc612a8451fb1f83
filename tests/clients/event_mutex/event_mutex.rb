# A mutex on Redis whose waiters are woken by keyspace notifications, as applications write it.

require "redis"

class EventMutex
  ACQUIRE = <<~LUA.freeze
    if redis.call('setnx', KEYS[1], 1) == 1 then
      redis.call('expire', KEYS[1], ARGV[1])
      return 1
    end
    return 0
  LUA
  ENDS = %w[del expired].freeze

  # How many times this mutex was woken only to find the key taken again.
  attr_reader :wakes

  def self.configure(redis) = redis.config(:set, "notify-keyspace-events", "Kgx")

  def initialize(port:, scope:, max_s: 30)
    @port = port
    @scope = scope
    @max_s = max_s
    @wakes = 0
    @redis = Redis.new(port: port)
  end

  def key_of(local_scope) = "#{@scope}.#{local_scope}"

  def acquire(local_scope)
    key = key_of(local_scope)
    wait_for_end(key) until @redis.eval(ACQUIRE, keys: [key], argv: [@max_s]) == 1
  end

  def release(local_scope) = @redis.del(key_of(local_scope)) == 1

  def synchronise(local_scope)
    acquire(local_scope)
    begin
      yield
    ensure
      release(local_scope)
    end
  end

  def close = @redis.close

  private

  # Uses a second connection. Checks the key again after subscribing, in case it was released just
  # before.
  def wait_for_end(key)
    subscriber = Redis.new(port: @port)
    subscriber.subscribe("__keyspace@0__:#{key}") do |on|
      on.subscribe { subscriber.unsubscribe unless @redis.exists?(key) }
      on.message do |_channel, event|
        next unless ENDS.include?(event)

        @wakes += 1
        subscriber.unsubscribe
      end
    end
  ensure
    subscriber&.close
  end
end
