# frozen_string_literal: true

require_relative "clock"
require_relative "cluster"
require_relative "failures"

module Fairlock
  # What Redis::Namespace does to a client. Namespaces may be nested, and each may be a Proc.
  module Namespaces
    module_function

    # The client in the innermost one, or a pool of clients.
    def inside(redis)
      redis = redis.redis while namespace?(redis)
      redis
    end

    # The namespaces, from the innermost to the outermost.
    def around(redis) = namespace?(redis) ? [*around(redis.redis), redis] : []

    # What the namespaces put before a key.
    def prefix(namespaces)
      namespaces.filter_map(&:namespace).map { |namespace| "#{namespace}:" }.join
    end

    def namespace?(redis) = defined?(::Redis::Namespace) && redis.is_a?(::Redis::Namespace)
  end
  private_constant :Namespaces

  # A reply, and the time just before its command was sent.
  Answer = Struct.new(:reply, :sent_at)
  private_constant :Answer

  # Connections to one server with the options of the application's client. A request that waits
  # occupies one, so they are not shared with the application. Thread-safe.
  #
  # A Cluster has the same methods, and chooses the server by the key.
  class Connections
    # What the clients of a Cluster's nodes do not share with the application's client.
    NODE_OPTIONS = {}.freeze
    IDLE_MAX = 16
    CREATION = Mutex.new
    private_constant :IDLE_MAX, :CREATION

    # All locks on one client share their connections, as long as it uses the same database.
    def self.of(redis)
      client = Namespaces.inside(redis)
      known(client) || share(client, make(redis))
    end

    # What a client puts before the keys of the commands that it knows. It does not know ours.
    def self.prefix_of(redis)
      return "" if redis.is_a?(::Redis)

      Namespaces.prefix(of(redis).namespaces + Namespaces.around(redis))
    end

    # Makes the connections to the servers of a client: Connections, or a Cluster of them.
    def self.make(redis)
      client = Namespaces.inside(redis)
      raise TypeError, "expected a Redis, got #{client.class}" unless client.respond_to?(:with)

      client.with do |one|
        made = Namespaces.inside(one)
        raise TypeError, "expected a Redis, got #{made.class}" unless made.is_a?(::Redis)

        connections = Cluster.client?(made) ? Cluster.new(made, self) : new(client)
        connections.namespaces = Namespaces.around(one)
        connections
      end
    end

    def self.known(client)
      connections = client.instance_variable_get(:@fairlock_connections)
      connections if connections&.serve?(client)
    end
    private_class_method :known

    def self.share(client, connections)
      CREATION.synchronize do
        known(client) || client.instance_variable_set(:@fairlock_connections, connections)
      end
    end
    private_class_method :share

    # The namespaces of each client in a pool.
    attr_accessor :namespaces

    def initialize(redis)
      @redis = redis
      @database = redis.with { |one| Namespaces.inside(one)._client.db }
      @process = Process.pid
      @idle = []
    end

    # False once the client has selected another database.
    def serve?(client) = !client.is_a?(::Redis) || client._client.db == @database

    # Sends one request, at most once. Connection errors are those of the gem.
    def ask(command)
      connection = take
      sent_at = Fairlock.now
      reply = Failures.of_gem do
        connection.without_reconnect { connection.call(*command) }
      end
      is_usable = true
      Answer.new(reply, sent_at)
    rescue ::Redis::CommandError => error
      # With Sentinel, a new connection finds the new leader.
      is_usable = !Failures.temporary?(error)
      raise
    ensure
      put(connection, is_usable) if connection
    end

    # A new connection. A client's copy would use the database of the client's options.
    def open
      connection = @redis.with { |one| Namespaces.inside(one).dup }
      connection._client.db = @database if connection._client.db != @database
      connection
    end

    # The read time-out of the client.
    def read_timeout = @redis.with { |redis| redis._client.timeout }

    # Closes the connections that are not in use.
    def close
      @idle.pop.close until @idle.empty?
    end

    # An idle or a new connection, which must be given back with `put`.
    def take
      forget_those_of_the_parent if Process.pid != @process
      @idle.pop || open
    end

    def put(connection, is_usable)
      is_usable && @idle.size < IDLE_MAX ? @idle.push(connection) : connection.close
    end

    # What follows is needed only in a Cluster.

    def single? = true
    def of_key(_key) = self
    def leader(_key) = self
    def each_leader = yield(self)
    def channel_tag(_key) = nil
    def doubt = nil

    private

    # Closing them would end the parent's TLS sessions.
    def forget_those_of_the_parent
      @idle = []
      @process = Process.pid
    end
  end
  private_constant :Connections

  # Sends all requests over one connection, one after the other. Thread-safe.
  class OneConnection < Connections
    # The driver hiredis sends a command only when its reply is read, and a Subscription sends
    # commands while another thread reads.
    NODE_OPTIONS = { driver: :ruby }.freeze

    def initialize(redis)
      super
      @gate = Mutex.new
    end

    def ask(command) = @gate.synchronize { super }
    def close = @gate.synchronize { super }
  end
  private_constant :OneConnection
end
