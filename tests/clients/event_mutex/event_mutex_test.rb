# The mutex that is woken by keyspace notifications, unmodified, on Redis and on fairlock.

require_relative "../ruby/each_server"
require_relative "event_mutex"

EachServer.test("EventMutexTest") do
  def setup
    @redis = Redis.new(port: port)
    EventMutex.configure(@redis)
    @scope = SecureRandom.hex(4)
    @mutexes = []
  end

  def teardown = [@redis, *@mutexes].each(&:close)

  # Returns a mutex that acts like one in a separate process.
  def new_mutex(**options)
    EventMutex.new(port: port, scope: @scope, **options).tap { |mutex| @mutexes << mutex }
  end

  def subscribers(mutex) = @redis.pubsub("numsub", "__keyspace@0__:#{mutex.key_of(1)}").last

  def test_the_notifications_are_configured
    settings = @redis.config(:get, "notify-keyspace-events").fetch("notify-keyspace-events")
    assert_equal %w[K g x], %w[K g x] & settings.chars
  end

  def test_a_free_mutex_is_taken_for_its_time
    mutex = new_mutex(max_s: 10)
    mutex.acquire(1)
    assert_includes 9..10, @redis.ttl(mutex.key_of(1))
    assert mutex.release(1)
    refute mutex.release(1)
  end

  def test_a_release_wakes_the_waiter
    holder = new_mutex
    waiter = new_mutex
    holder.acquire(1)
    thread = Thread.new { waiter.acquire(1) }
    eventually("it is subscribed") { subscribers(waiter) == 1 }
    assert holder.release(1)
    thread.join
    assert_equal 1, waiter.wakes
    assert waiter.release(1)
  end

  def test_the_end_of_a_lease_wakes_the_waiter
    waiter = new_mutex
    assert @redis.set(waiter.key_of(1), "1", nx: true, px: 1500)
    thread = Thread.new { waiter.acquire(1) }
    thread.join(Eventually::LIMIT_S) || flunk("no event came")
    assert waiter.release(1)
  end

  def test_many_waiters_are_never_two_inside
    inside = 0
    runs = 0
    guard = Mutex.new
    threads = Array.new(6) do
      mutex = new_mutex
      Thread.new do
        mutex.synchronise(1) do
          guard.synchronize { assert_equal 1, inside += 1 }
          sleep 0.02
          guard.synchronize { runs += 1 and inside -= 1 }
        end
      end
    end
    threads.each(&:join)
    assert_equal 6, runs
  end
end
