# frozen_string_literal: true

# A fleet of two partitions that cluster_test.py has started.

require_relative "support"

# The tests of a file share the fleet, and each has its own keys.
class FleetCase < Case
  NODES = ENV.fetch("NODES").split(",").map { |address| "redis://#{address}" }.freeze
  ORDERS = IO.for_fd(Integer(ENV.fetch("ORDERS")), "w")
  ANSWERS = IO.for_fd(Integer(ENV.fetch("ANSWERS")), "r")

  def setup
    @clients = []
    @threads = []
    @outside = client
  end

  def teardown
    @threads.each { |thread| end_thread(thread) }
    order("heal") if @is_harmed
    @clients.each(&:close)
  end

  def client(**options) = Redis.new(cluster: NODES, **options).tap { |redis| @clients << redis }

  # One client for each node.
  def plain_clients
    @plain_clients ||= NODES.map { |node| Redis.new(url: node).tap { |redis| @clients << redis } }
  end

  # Kills the leader of a key's partition, for example. The test's end makes the fleet whole again.
  def order(text)
    @is_harmed = true
    ORDERS.puts(text)
    ORDERS.flush
    assert_equal "done\n", ANSWERS.gets
  end

  # The gem finds the key of a command if its name is in lower case. Asks again after a fail-over.
  def ask(name, *words)
    @outside.call(name.downcase, *words)
  rescue Redis::BaseConnectionError, Redis::Cluster::Node::ReloadNeeded
    sleep 0.05
    retry
  rescue Redis::CommandError => error
    raise unless error.message.match?(/CLUSTERDOWN|LOADING|TRYAGAIN/)

    sleep 0.05
    retry
  end

  # A key of this test in each partition.
  def keys
    [0, 1].map do |partition|
      (0..).lazy.map { |number| "#{name}:#{number}" }
           .find { |key| Fairlock.const_get(:HashSlot).of(key) / 8192 == partition }
    end
  end

  # The result for each node.
  def at_each_node(*command) = plain_clients.map { |redis| redis.call(*command) }

  # How many connections of this name each node has.
  def connections(name)
    at_each_node("CLIENT", "LIST").map { |list| list.scan("name=#{name}").size }
  end

  # The subscribed names that begin with this one.
  def subscribed(name) = at_each_node("PUBSUB", "CHANNELS", "#{name}*").flatten
end
