# frozen_string_literal: true

require "monitor"
require "uri"

require_relative "failures"
require_relative "hash_slot"

module Fairlock
  # The leaders of a fleet of several partitions, for a cluster client: that of version 4 of the gem
  # or that of redis-clustering. Such a client has one connection for each node, which a request
  # that waits would block. So each node gets a plain client with the same options. Thread-safe.
  class Cluster
    # Options that do not apply to a client of one node.
    OWN_OPTIONS = %i[cluster nodes replica replica_affinity fixed_hostname concurrency
                     connect_with_original_config max_startup_sample slow_command_timeout
                     url host port path].freeze
    # A channel's name contains the tag of the first key of its slot, if it looks like this.
    PLAIN_TAG = /\A[\w:.-]{1,32}\z/n
    # A range of slots, and the address of its leader.
    Partition = Struct.new(:from, :to, :address)
    private_constant :OWN_OPTIONS, :PLAIN_TAG, :Partition

    def self.client?(redis)
      [redis, redis._client].any? { |one| one.class.name.end_with?("Cluster") }
    end

    # See Connections.
    attr_accessor :namespaces

    # `kind` is the class of the connections to one node.
    def initialize(redis, kind)
      options = redis.instance_variable_get(:@options)
      seeds = [options[:cluster] || options[:nodes]].flatten
      @options = { **options_in(seeds.first), **options.except(*OWN_OPTIONS), db: 0 }
      @hostname = options[:fixed_hostname]
      @seeds = seeds.map { |seed| address_in(seed) }
      @kind = kind
      @nodes = {}
      @tags = {}
      @gate = Monitor.new
    end

    def single? = false

    # A fleet of several partitions has one database.
    def serve?(_client) = true

    # Sends requests about this key.
    def of_key(key) = KeyRoute.new(self, HashSlot.of(key))

    # The connections to the node that leads the partition of this key.
    def leader(key) = node(address(HashSlot.of(key)))

    # Yields the connections to each leader.
    def each_leader(&block)
      partitions = table
      unless whole?(partitions)
        doubt
        raise ::Redis::CannotConnectError, "not every partition of the fleet has a leader"
      end
      begin
        partitions.each { |partition| node(partition.address).then(&block) }
      rescue ::Redis::BaseConnectionError
        doubt
        raise
      end
    end

    def read_timeout = node(@seeds.first).read_timeout

    def close = @gate.synchronize { @nodes.each_value(&:close) }

    # A text that has the hash slot of the key, and is the same for all keys of this slot.
    def channel_tag(key)
      slot = HashSlot.of(key)
      @tags[slot] ||= begin
        tag = HashSlot.tag(key)
        PLAIN_TAG.match?(tag) ? tag : HashSlot.text(slot)
      end
    end

    # The address of the leader of a slot or, if the fleet does not name one, of any node.
    def address(slot)
      partition = table.bsearch { |one| slot <= one.to }
      partition && slot >= partition.from ? partition.address : (@nodes.keys | @seeds).sample
    end

    def node(address)
      @nodes[address] || @gate.synchronize do
        @nodes[address] ||= @kind.new(::Redis.new(options_of(address)))
      end
    end

    # Asks the nodes again who leads, before the next request. With the address of a node that
    # failed, does so only if no other leaders have become known meanwhile.
    def doubt(address = nil)
      @gate.synchronize do
        @suspect = address || @suspect
        @table = nil unless address && @table && whole?(@table) &&
                            @table.none? { |partition| partition.address == address }
      end
    end

    # Takes note of a MOVED, which names the leader of a partition. Returns whether the error was
    # one.
    def redirected?(error)
      return false unless Failures.moved?(error)

      _, slot, address = error.message.split
      @gate.synchronize { @table = @table&.map { |one| moved(one, Integer(slot), address) } }
      true
    end

    private

    # The user, the password and TLS may be given with the nodes.
    def options_in(seed)
      seed.is_a?(String) ? { url: seed } : seed.transform_keys(&:to_sym).except(:host, :port)
    end

    def address_in(seed)
      return URI(seed).then { |uri| "#{uri.host}:#{uri.port || 6379}" } if seed.is_a?(String)

      seed.transform_keys(&:to_s).values_at("host", "port").join(":")
    end

    def options_of(address)
      host, _, port = address.rpartition(":")
      { **@options, **@kind::NODE_OPTIONS, host: @hostname || host, port: Integer(port) }
    end

    # The partitions that have a leader, in the order of their slots.
    def table
      @table || @gate.synchronize { @table ||= load_table }
    end

    def whole?(table)
      table.sum { |partition| partition.to - partition.from + 1 } == HashSlot::COUNT
    end

    # Asks the node that failed last only at the end, because it may take as long as a time-out.
    def load_table
      failure = nil
      addresses = (@nodes.keys | @seeds).shuffle.sort_by { |address| address == @suspect ? 1 : 0 }
      addresses.each do |address|
        reply = node(address).ask(%w[CLUSTER SLOTS]).reply
        forget_others(reply)
        return partitions_in(reply, address)
      rescue *Failures::ALL => error
        failure = error
      end
      raise failure
    end

    def partitions_in(reply, asked)
      partitions = reply.map do |first, last, (host, port)|
        host = asked.rpartition(":").first if host.to_s.empty?
        Partition.new(first, last, "#{host}:#{port}")
      end
      partitions.sort_by(&:from)
    end

    def forget_others(reply)
      known = reply.flat_map { |_, _, *nodes| nodes.map { |host, port| "#{host}:#{port}" } }
      known |= @seeds
      @nodes.keys.difference(known).each { |address| @nodes.delete(address).close }
    end

    def moved(partition, slot, address)
      return partition unless slot.between?(partition.from, partition.to)

      Partition.new(partition.from, partition.to, address)
    end
  end
  private_constant :Cluster

  # Sends requests to the leader of one hash slot.
  class KeyRoute
    REDIRECTIONS_MAX = 5
    private_constant :REDIRECTIONS_MAX

    def initialize(cluster, slot)
      @cluster = cluster
      @slot = slot
    end

    def ask(command) = follow { |connections| connections.ask(command) }

    # Yields the connections to the leader, and does so again if the request was not executed
    # because another node leads.
    def follow
      redirections = 0
      begin
        address = @cluster.address(@slot)
        yield @cluster.node(address)
      rescue *Failures::ALL => error
        retry if redirected?(error, address) && (redirections += 1) <= REDIRECTIONS_MAX
        raise unless Failures.moved?(error)

        @cluster.doubt(address)
        raise ::Redis::CannotConnectError, "the nodes do not agree on who leads: #{error.message}"
      end
    end

    private

    # Takes note of an error. Returns whether another node leads, and the request was not executed.
    def redirected?(error, address)
      return true if @cluster.redirected?(error)

      @cluster.doubt(address) if Failures.temporary?(error)
      error.is_a?(::Redis::CannotConnectError) && @cluster.address(@slot) != address
    end
  end
  private_constant :KeyRoute
end
