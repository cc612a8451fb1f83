# frozen_string_literal: true

# Locks, against a real server.

require_relative "support"

class LockTest < Case
  def test_the_block_holds_the_lock_and_its_value_is_returned
    value = Fairlock.lock(client, "order:42", lease: 30, wait: 10) do |hold|
      assert_equal 1, ask("CHECK", "order:42", hold.token)
      assert_equal ["order:42"], hold.keys
      assert_equal 1, ask("LOCKED", "order:42", hold.owner)
      assert_operator hold.deadline - Fairlock.now, :>, 29
      :value
    end
    assert_equal :value, value
    assert_nothing_left "order:42"
  end

  def test_a_released_hold_is_not_held
    hold = Fairlock.lock(client, "k").acquire
    assert hold.release
    refute hold.release
    assert_match(/was released/, assert_raises(Fairlock::LostHold) { hold.check }.message)
  end

  def test_every_way_out_of_a_block_releases
    redis = client
    assert_raises(ZeroDivisionError) { Fairlock.lock(redis, "k") { 1 / 0 } }
    [1].each { Fairlock.lock(redis, "k") { next } }
    catch(:out) { Fairlock.lock(redis, "k") { throw :out } }
    assert_equal 7, -> { Fairlock.lock(redis, "k") { return 7 } }.call
    assert_nothing_left "k"
  end

  def test_a_denial_names_the_holder_and_the_position
    ask("LOCK", "k", "other", "PX", 20_000, "META", "at work", "LABEL", "jobs")
    denied = assert_raises(Fairlock::Denied) do
      Fairlock.lock(client, "k", wait: 0, keep: 5).acquire
    end
    found = denied.explanation
    assert_equal ["queued", "held", 1], [found.status, found.reason, found.position]
    holder = found.holders.first
    assert_equal ["other", "at work", "jobs", "exclusive"],
                 [holder.owner, holder.meta, holder.label, holder.mode]
    assert_in_delta 20, holder.ttl, 5
    assert_includes denied.message, "held by other"
  end

  def test_a_wait_ends_at_its_time
    ask("LOCK", "k", "other")
    begun = Fairlock.now
    denied = assert_raises(Fairlock::Denied) { Fairlock.lock(client, "k", wait: 0.2) { flunk } }
    assert_operator Fairlock.now - begun, :>=, 0.2
    assert_equal "timeout", denied.explanation.status
    assert_equal "other", denied.explanation.holders.first.owner
    assert_empty waiters("k")
  end

  def test_try_acquire_returns_nil_if_the_lock_is_held
    lock = Fairlock.lock(client, "k")
    hold = lock.try_acquire
    before = commands("lock")
    assert_nil lock.try_acquire
    assert_equal before + 1, commands("lock")
    assert hold.release
    refute_nil lock.try_acquire
  end

  def test_shared_and_exclusive
    redis = client
    Fairlock.lock(redis, "k", shared: true) do
      Fairlock.lock(redis, "k", shared: true) do
        assert_equal 2, ask("LOCKED", "k")
        assert_nil Fairlock.lock(redis, "k").try_acquire
      end
    end
    assert_nothing_left "k"
  end

  def test_a_semaphore
    lock = Fairlock.lock(client, "k", limit: 2)
    holds = Array.new(2) { lock.acquire }
    refute_equal(*holds.map(&:token))
    assert_nil lock.try_acquire
    assert_equal [true, true], holds.map(&:release)
  end

  def test_many_keys
    redis = client
    Fairlock.lock(redis, "a", "b", "c") do |hold|
      hold.keys.each { |key| assert_equal 1, ask("CHECK", key, hold.token) }
      denied = assert_raises(Fairlock::Denied) { Fairlock.lock(redis, "x", "c", wait: 0).acquire }
      assert_equal "c", denied.explanation.key
      hold.renew(lease: 60)
      assert_operator ask("PTTL", "c"), :>, 31_000
    end
    assert_nothing_left "a", "b", "c", "x"
  end

  def test_min_hold_and_max_waiters
    redis = client
    assert Fairlock.lock(redis, "k", min_hold: 60).acquire.release
    reasons = [{ wait: 0 }, { wait: 9, max_waiters: 0 }].map do |options|
      assert_raises(Fairlock::Denied) { Fairlock.lock(redis, "k", **options).acquire }
        .explanation.reason
    end
    assert_equal %w[cooling full], reasons
  end

  def test_transfer_gives_the_lock_to_another_owner
    redis = client
    token = Fairlock.lock(redis, "k") do |hold|
      hold.transfer("worker-2").tap { assert_raises(Fairlock::LostHold) { hold.check } }
    end
    Fairlock.lock(redis, "k", owner: "worker-2") { |hold| assert_equal token, hold.token }
    assert_nothing_left "k"
  end

  def test_a_given_owner_keeps_its_place_between_attempts
    ask("LOCK", "k", "other")
    mine = Fairlock.lock(client, "k", owner: "job:1", keep: 20, wait: 0)
    assert_nil mine.try_acquire
    assert_equal ["job:1"], waiters("k")
    ask("UNLOCK", "k", "other")
    assert_nil Fairlock.lock(client, "k").try_acquire
    assert mine.try_acquire.release
  end

  def test_terms_that_contradict_each_other
    [{ lease: 0 }, { shared: true, limit: 2 }].each do |options|
      assert_raises(ArgumentError) { Fairlock.lock(client, "k", **options) }
    end
    assert_raises(ArgumentError) { Fairlock.lock(client) }
    error = assert_raises(Redis::CommandError) { Fairlock.lock(client, "").acquire }
    assert_match(/key must have/, error.message)
  end

  def test_any_bytes
    Fairlock.lock(client, "\xFF\x00".b, owner: "\xFE".b, meta: "\xFD".b) do |hold|
      assert_equal 1, ask("CHECK", "\xFF\x00".b, hold.token)
      denied = assert_raises(Fairlock::Denied) do
        Fairlock.lock(client, "\xFF\x00".b, wait: 0).acquire
      end
      assert_equal "\xFE".b, denied.explanation.holders.first.owner.b
    end
  end

  def test_other_requests_that_end_a_wait
    ask("LOCK", "k", "other")
    %w[CANCEL UNLOCK].each do |command|
      lock = Fairlock.lock(client, "k", owner: "me", wait: 20)
      thread = in_thread { lock.acquire }
      wait_until { waiters("k") == ["me"] }
      ask(command, "k", "me")
      assert_match(/CANCELLED/, assert_raises(Fairlock::WaitEnded) { result_of(thread) }.message)
    end
  end

  def test_a_deadlock_is_refused
    Fairlock.lock(client, "a", owner: "one").acquire
    ask("LOCK", "b", "two")
    thread = in_thread { Fairlock.lock(client, "b", owner: "one", wait: 10).acquire }
    wait_until { waiters("b") == ["one"] }
    error = assert_raises(Fairlock::Deadlock) do
      Fairlock.lock(client, "a", owner: "two", wait: 10).acquire
    end
    assert_match(/waits for/, error.message)
    ask("UNLOCK", "b", "two")
    assert result_of(thread).release
  end

  def test_threads_take_turns
    lock = Fairlock.lock(client, "k", wait: 20)
    inside = 0
    tokens = []
    threads = Array.new(8) do
      in_thread do
        20.times do
          lock.synchronize do |hold|
            assert_equal 1, inside += 1
            tokens << hold.token
            Thread.pass
            inside -= 1
          end
        end
      end
    end
    threads.each { |thread| result_of(thread) }
    assert_equal [160, tokens.sort], [tokens.size, tokens]
  end

  def test_a_connection_pool
    require "connection_pool"
    pool = ConnectionPool.new(size: 1) { client }
    Fairlock.lock(pool, "k") do |hold|
      pool.with { |redis| assert_equal 1, redis.call("CHECK", "k", hold.token) }
    end
    assert_nothing_left "k"
  end

  def test_other_clients_are_refused
    [Object.new, [1].each].each do |thing|
      error = assert_raises(TypeError) { Fairlock.lock(thing, "k").acquire }
      assert_match(/expected a Redis/, error.message)
    end
  end

  def test_no_server
    redis = Redis.new(port: OwnServer.free_port)
    begun = Fairlock.now
    assert_raises(Redis::CannotConnectError) { Fairlock.lock(redis, "k", wait: 0).acquire }
    assert_operator Fairlock.now - begun, :<, 10
    begun = Fairlock.now
    assert_raises(Redis::CannotConnectError) { Fairlock.lock(redis, "k", wait: 0.5).acquire }
    assert_operator Fairlock.now - begun, :>=, 0.5
  end

  def test_keys_may_have_any_bytes
    hold = Fairlock.lock(client, "\xFF".b, "\u00e9", owner: "me", wait: 1, shared: true).acquire
    assert_kind_of Integer, hold.token
    ask("MUNLOCK", 2, "\xFF".b, "\u00e9", "me")
    assert_raises(Fairlock::LostHold) { hold.renew }
  end
end

class OtherServersTest < Minitest::Test
  def test_redis_is_not_fairlock
    Dir.mktmpdir do |folder|
      port = OwnServer.free_port
      process = spawn("redis-server", "--port", port.to_s, "--bind", "127.0.0.1", "--save", "",
                      chdir: folder, %i[out err] => File::NULL)
      redis = Redis.new(port: port)
      begin
        redis.ping
      rescue Redis::CannotConnectError
        sleep(0.05)
        retry
      end
      [["k"], %w[a b]].each do |keys|
        error = assert_raises(Fairlock::NotFairlock) { Fairlock.lock(redis, *keys).acquire }
        assert_match(/it may be Redis/, error.message)
      end
    ensure
      Process.kill(:TERM, process)
      Process.wait(process)
    end
  end
end
