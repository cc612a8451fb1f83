# Identical requests with fairlock: shows that it has none of the limitations of the cache's
# semaphore.

require "active_support"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "active_support/core_ext"
require "minitest/autorun"

require_relative "../ruby/eventually"
require_relative "../ruby/gem"
require_relative "../ruby/raw_client"
require_relative "semaphore_lock"

require "fairlock"

class FairSemaphoreTest < Minitest::Test
  include Eventually

  # The cache's semaphore on a real Redis, to show its limitations.
  class Endpoint
    include SemaphoreLock

    attr_reader :cache

    def initialize(port)
      @cache = ActiveSupport::Cache::RedisCacheStore.new(url: "redis://127.0.0.1:#{port}/0",
                                                         **WITHOUT_POOL)
    end
  end

  def setup
    @fairlock = RawClient.new(port: ENV.fetch("FAIRLOCK_PORT"))
    @semaphore = Fairlock::Semaphore.new(Redis.new(port: ENV.fetch("FAIRLOCK_PORT")))
    @on_redis = Endpoint.new(ENV.fetch("REDIS_PORT"))
    @key = SecureRandom.uuid
    @full_key = "semaphore_lock:#{@key}"
  end

  def teardown = @fairlock.close

  # Holds the lock in a separate thread until the test releases it.
  def hold_in_thread(go_on, **options)
    begun = Queue.new
    thread = Thread.new do
      @semaphore.with_lock(@key, **options) do |state|
        begun << state
        go_on.pop if state == :locked
        state
      end
    end
    begun.pop
    thread
  end

  def waiters = @fairlock.info(@full_key)["waiters"]

  def test_one_of_many_identical_requests_runs_and_the_others_skip
    go_on = Queue.new
    winner = hold_in_thread(go_on)
    states = Array.new(11) { @semaphore.with_lock(@key) { |state| state } }
    assert_equal [:skipped], states.uniq
    go_on << :now
    assert_equal :locked, winner.value
  end

  def test_an_exception_releases_it
    assert_raises(ArgumentError) { @semaphore.with_lock(@key) { raise ArgumentError } }
    assert_equal :locked, @semaphore.with_lock(@key) { |state| state }
  end

  def test_the_others_may_wait_and_come_in_the_order_of_asking
    go_on = Queue.new
    served = Queue.new
    winner = hold_in_thread(go_on)
    others = Array.new(4) do |n|
      thread = Thread.new do
        @semaphore.with_lock(@key, wait: 20) { |state| served << [n, state] }
      end
      eventually("request #{n} is in line") { waiters == n + 1 }
      thread
    end
    go_on << :now
    [winner, *others].each(&:join)
    assert_equal Array.new(4) { |n| [n, :locked] }, Array.new(served.size) { served.pop }
  end

  # The skipped request waits until the winner has committed, and then it finds the record.
  def test_the_skipped_one_can_wait_for_the_winner
    go_on = Queue.new
    record = nil
    winner = hold_in_thread(go_on)
    late = Thread.new do
      @semaphore.with_lock(@key) do |state|
        state == :skipped && @semaphore.wait_for_winner(@key, 20) && record
      end
    end
    eventually("it waits") { late.status == "sleep" }
    record = :created
    go_on << :now
    assert_equal :locked, winner.value
    assert_equal :created, late.value
  end

  def test_a_semaphore_of_more_than_one
    go_on = Queue.new
    holders = Array.new(3) { hold_in_thread(go_on, limit: 3) }
    assert_equal :skipped, @semaphore.with_lock(@key, limit: 3) { |state| state }
    3.times { go_on << :now }
    assert_equal [:locked], holders.map(&:value).uniq
  end

  def test_at_most_once_in_a_period_however_fast_it_is
    assert_equal :locked, @semaphore.with_lock(@key, period: 3) { |state| state }
    assert_equal :skipped, @semaphore.with_lock(@key, period: 3) { |state| state }
    eventually("the period is over") { @semaphore.with_lock(@key) { |state| state } == :locked }
    # With the cache, the second request runs as soon as the first is done.
    2.times { assert_equal :locked, @on_redis.with_semaphore_lock(@key, ttl_s: 2) { |state| state } }
  end

  # The block takes longer than its lease, so another caller already has the lock when it ends.
  def test_a_slow_one_does_not_release_the_lock_of_the_next
    next_owner = nil
    assert_raises(Fairlock::LostHold) do
      @semaphore.with_lock(@key, lease: 0.1, renew: false) do
        next_owner = eventually("the lease is over") do
          @fairlock.lock(@full_key, "next", px: 60_000)
        end
      end
    end
    assert next_owner
    assert_equal 1, @fairlock.call("LOCKED", @full_key, "next")

    @on_redis.with_semaphore_lock(@key, ttl_s: 0.1) do
      eventually("the time is over") { @on_redis.cache.write(@full_key, true, unless_exist: true) }
    end
    refute @on_redis.cache.exist?(@full_key), "there the slow one has deleted the other's lock"
  end

  def test_an_outage_does_not_read_as_skipped
    gone = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    no_server = Fairlock::Semaphore.new(Redis.new(port: gone))
    assert_raises(Redis::CannotConnectError) { no_server.with_lock(@key) { flunk } }
    assert_equal :skipped, Endpoint.new(gone).with_semaphore_lock(@key) { |state| state }
  end
end
