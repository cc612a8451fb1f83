# Compares the mutex that uses keyspace notifications with fairlock's: what waiting costs, and in
# which order waiters are served.

require "minitest/autorun"

require_relative "../ruby/command_counts"
require_relative "../ruby/eventually"
require_relative "../ruby/gem"
require_relative "../ruby/raw_client"
require_relative "event_mutex"

require "fairlock"

class FairMutexTest < Minitest::Test
  include Eventually

  WAITERS = 8

  def setup
    @port = ENV.fetch("FAIRLOCK_PORT")
    @fairlock = RawClient.new(port: @port)
    @client = Redis.new(port: @port, timeout: 20)
    @redis = Redis.new(port: ENV.fetch("REDIS_PORT"))
    EventMutex.configure(@redis)
  end

  def teardown
    @fairlock.close
    @client.close
    @redis.close
  end

  def synchronise(scope, wait: 60, &block)
    Fairlock.lock(@client, "deploy.#{scope}", wait: wait, &block)
  end

  def info = @fairlock.info("deploy.1")

  # Lets all mutexes wait while the test holds the lock; returns their numbers in the order in which
  # they ran.
  def served_in_line
    served = Queue.new
    threads = []
    synchronise(1) do
      threads = Array.new(WAITERS) do |n|
        thread = Thread.new { synchronise(1) { served << n } }
        eventually("#{n} is in line") { info["waiters"] == n + 1 }
        thread
      end
    end
    threads.each(&:join)
    Array.new(served.size) { served.pop }
  end

  def test_waiters_are_served_in_the_order_of_asking
    assert_equal (0...WAITERS).to_a, served_in_line
  end

  def test_a_release_wakes_one_waiter_and_asks_for_nothing
    asked = CommandCounts.during(@port) { served_in_line }
    assert_equal [WAITERS + 1] * 2, asked.values_at("lock", "unlock")
    assert_empty asked.keys - %w[lock unlock lockinfo], "lockinfo is the test's own"
  end

  # On Redis, every release wakes all waiters, and each of them requests the lock again, on two
  # connections.
  def test_there_every_release_wakes_all_waiters
    mutexes = Array.new(WAITERS) { EventMutex.new(port: ENV.fetch("REDIS_PORT"), scope: "deploy") }
    holder = EventMutex.new(port: ENV.fetch("REDIS_PORT"), scope: "deploy")
    threads = []
    asked = CommandCounts.during(ENV.fetch("REDIS_PORT")) do
      holder.synchronise(1) do
        threads = mutexes.map { |mutex| Thread.new { mutex.synchronise(1) { sleep 0.05 } } }
        eventually("all are subscribed") do
          @redis.pubsub("numsub", "__keyspace@0__:deploy.1").last == WAITERS
        end
        assert_operator @redis.info["connected_clients"].to_i, :>=, 2 * WAITERS
      end
      threads.each(&:join)
    end
    # The first release alone wakes every waiter, although only one gets the lock.
    assert_operator mutexes.sum(&:wakes), :>=, WAITERS
    assert_operator asked["eval"], :>=, 2 * WAITERS + 1
    mutexes.each(&:close)
  end

  def test_a_waiter_needs_one_connection
    before = connections
    threads = []
    synchronise(1) do
      threads = Array.new(WAITERS) { Thread.new { synchronise(1) { nil } } }
      eventually("all wait") { info["waiters"] == WAITERS }
      assert_operator connections - before, :<=, WAITERS + 1
    end
    threads.each(&:join)
  end

  def connections = @fairlock.call("INFO", "clients")[/^connected_clients:(\d+)/, 1].to_i

  # On Redis, the event of the release is lost if the connection that should deliver it breaks. On
  # fairlock, the client repeats its request and still has its place.
  def test_a_waiter_whose_connection_breaks_keeps_its_place
    served = Queue.new
    threads = []
    synchronise(1) do
      threads = Array.new(2) do |n|
        thread = Thread.new { synchronise(1) { served << n } }
        eventually("#{n} is in line") { info["waiters"] == n + 1 }
        thread
      end
      kill_connection_of(@fairlock.call("QUEUE", "deploy.1").first)
      eventually("it is back") { places.map { |place| place["connected"] } == [1, 1] }
    end
    threads.each(&:join)
    assert_equal [0, 1], Array.new(2) { served.pop }
  end

  def places = @fairlock.call("QUEUE", "deploy.1").map { |place| place.each_slice(2).to_h }

  def kill_connection_of(place)
    address = place.each_slice(2).to_h["address"]
    assert_equal 1, @fairlock.call("CLIENT", "KILL", "ADDR", address)
  end

  def test_the_wait_has_an_end
    synchronise(1) do
      another = Thread.new { synchronise(1, wait: 0.05) { flunk } }
      another.report_on_exception = false
      error = assert_raises(Fairlock::Denied) { another.value }
      assert_match(/\A\S+ not granted in 0.05 s: held by /, error.message)
    end
  end

  def test_a_waiter_comes_when_the_lease_of_a_dead_holder_ends
    assert @fairlock.lock("deploy.1", "dead", px: 500)
    assert_equal :ran, synchronise(1) { :ran }
  end

  def test_scopes_are_independent
    assert_equal :ran, synchronise(1) { synchronise(2) { :ran } }
  end
end
