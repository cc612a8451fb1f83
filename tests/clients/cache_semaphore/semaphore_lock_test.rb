# Rails' cache used as a semaphore, unmodified, on Redis and on fairlock.

require "active_support"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "active_support/core_ext"

require_relative "../ruby/each_server"
require_relative "semaphore_lock"

EachServer.test("SemaphoreLockTest") do
  include SemaphoreLock

  attr_reader :cache

  def setup
    @errors = []
    @cache = new_cache
    @key = SecureRandom.uuid
  end

  # If the store has swallowed an error, the test fails.
  def teardown = assert_empty(@errors)

  def new_cache(**options)
    ActiveSupport::Cache::RedisCacheStore.new(
      url: "redis://127.0.0.1:#{port}/0", **WITHOUT_POOL, **options,
      error_handler: ->(method:, exception:, **) { @errors << [method, exception.message] }
    )
  end

  def state_of(key = @key, **options) = with_semaphore_lock(key, **options) { |state| state }

  def test_the_first_is_locked_and_the_next_is_skipped
    with_semaphore_lock(@key) do |state|
      assert_equal :locked, state
      assert_equal :skipped, state_of
      assert_equal :locked, state_of("#{@key}:other")
      assert_equal :locked, state_of(namespace: "other")
    end
    assert_equal :locked, state_of
  end

  def test_an_exception_releases_it
    assert_raises(ArgumentError) { with_semaphore_lock(@key) { raise ArgumentError } }
    assert_equal :locked, state_of
  end

  def test_it_ends_after_its_time
    assert @cache.write(@key, true, expires_in: 0.5, unless_exist: true)
    assert @cache.exist?(@key)
    refute @cache.write(@key, true, expires_in: 60, unless_exist: true)
    eventually("it is over") { @cache.write(@key, true, expires_in: 60, unless_exist: true) }
  end

  def test_what_was_written_can_be_read_and_deleted
    assert @cache.write(@key, true, expires_in: 60, unless_exist: true)
    assert_equal true, @cache.read(@key)
    assert @cache.delete(@key)
    refute @cache.exist?(@key)
    assert_nil @cache.read(@key)
    assert_includes [false, 0, nil], @cache.delete(@key)
  end

  def test_stores_with_a_pool_and_with_a_namespace
    pooled = new_cache(**POOL, namespace: @key)
    assert pooled.write("a", true, expires_in: 60, unless_exist: true)
    refute new_cache(namespace: @key).write("a", true, expires_in: 60, unless_exist: true)
    assert @cache.exist?("#{@key}:a")
    pooled.clear
    refute pooled.exist?("a")
  end

  def test_one_of_twelve_identical_requests_makes_the_record
    go_on = Queue.new
    states = Queue.new
    requests = Array.new(12) do
      Thread.new do
        with_semaphore_lock(@key) do |state|
          states << state
          go_on.pop if state == :locked
        end
      end
    end
    eventually("all have asked") { states.size == 12 }
    go_on << :now
    requests.each(&:join)
    assert_equal({ locked: 1, skipped: 11 }, Array.new(12) { states.pop }.tally)
    refute @cache.exist?("semaphore_lock:#{@key}")
  end
end
