# frozen_string_literal: true

require_relative "clock"
require_relative "failures"

module Fairlock
  # A reply, and the time just before its command was sent.
  Answer = Struct.new(:reply, :sent_at)
  private_constant :Answer

  # Connections with the options of the application's client. A request that waits occupies one,
  # so they are not shared with the application. Thread-safe.
  class Connections
    IDLE_MAX = 16
    CREATION = Mutex.new
    private_constant :IDLE_MAX, :CREATION

    # All locks on one client share their connections.
    def self.of(redis)
      redis.instance_variable_get(:@fairlock_connections) || CREATION.synchronize do
        redis.instance_variable_get(:@fairlock_connections) ||
          redis.instance_variable_set(:@fairlock_connections, new(redis))
      end
    end

    def initialize(redis)
      raise TypeError, "expected a Redis, got #{redis.class}" unless redis.respond_to?(:with)

      @redis = redis
      @process = Process.pid
      @idle = []
    end

    # Sends one request, at most once. Connection errors are those of the gem.
    def ask(command)
      connection = take
      sent_at = Fairlock.now
      reply = connection.without_reconnect { connection.call(*command) }
      is_usable = true
      Answer.new(reply, sent_at)
    rescue ::Redis::CommandError => error
      # With Sentinel, a new connection finds the new leader.
      is_usable = !Failures.temporary?(error)
      raise
    ensure
      put(connection, is_usable) if connection
    end

    # Yields a connection that nobody else uses meanwhile. If the block raises, it is closed.
    def lend
      connection = take
      result = yield connection
      is_usable = true
      result
    ensure
      put(connection, is_usable) if connection
    end

    # A new connection.
    def open
      @redis.with do |redis|
        raise TypeError, "expected a Redis, got #{redis.class}" if cluster?(redis)

        redis.dup
      end
    end

    # The read time-out of the client.
    def read_timeout = @redis.with { |redis| redis._client.timeout }

    # Closes the connections that are not in use.
    def close
      @idle.pop.close until @idle.empty?
    end

    private

    def cluster?(redis)
      !redis.is_a?(::Redis) || redis.class.name.end_with?("Cluster") ||
        redis._client.class.name.end_with?("Cluster")
    end

    def take
      forget_those_of_the_parent if Process.pid != @process
      @idle.pop || open
    end

    def put(connection, is_usable)
      is_usable && @idle.size < IDLE_MAX ? @idle.push(connection) : connection.close
    end

    # Closing them would end the parent's TLS sessions.
    def forget_those_of_the_parent
      @idle = []
      @process = Process.pid
    end
  end
  private_constant :Connections

  # Sends all requests over one connection, one after the other. Thread-safe.
  class OneConnection
    def initialize(redis)
      @gate = Mutex.new
      @connections = Connections.new(redis)
    end

    def ask(command) = @gate.synchronize { @connections.ask(command) }
    def close = @gate.synchronize { @connections.close }
  end
  private_constant :OneConnection
end
