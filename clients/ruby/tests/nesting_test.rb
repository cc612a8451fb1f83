# frozen_string_literal: true

# A thread, or a fibre, that asks for what it holds itself; and holds that the program drops.

require "logger"
require "stringio"

require_relative "support"

# Takes turns between fibres that sleep or wait for a lock, and nothing else.
class TurnsOfFibres
  def initialize
    @ready = []
    @waking = {}
    @blocked = 0
    @gate = Mutex.new
  end

  def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)

  def kernel_sleep(seconds = 0) = block(:sleep, seconds)

  def block(_blocker, timeout = nil)
    fiber = Fiber.current
    @gate.synchronize { @blocked += 1 }
    @waking[fiber] = Fairlock.now + timeout if timeout
    Fiber.yield
    @waking.delete(fiber)
  end

  def unblock(_blocker, fiber) = @gate.synchronize { @ready << fiber }

  def io_wait(io, events, timeout)
    readable, writable = [IO::READABLE, IO::WRITABLE].map { |one| [io] if (events & one).positive? }
    IO.select(readable, writable, nil, timeout || 20) ? events : false
  end

  def run
    until @blocked.zero?
      due = @gate.synchronize { @ready.slice!(0..) }
      due |= @waking.select { |_, time| time <= Fairlock.now }.keys
      due.each do |fiber|
        @gate.synchronize { @blocked -= 1 }
        fiber.resume if fiber.alive?
      end
      Thread.new { sleep 0.001 }.join if due.empty?
    end
  end

  def close = run
end

class NestingTest < Case
  KINDS = [{}, { shared: true }, { limit: 1 }, { limit: 2 }].freeze

  def test_a_thread_is_told_at_once
    redis = client
    KINDS.product(KINDS).each_with_index do |(outer, inner), number|
      key = "k:#{number}"
      may_both = outer == inner && outer.values.intersect?([true, 2])
      Fairlock.lock(redis, key, **outer) do |hold|
        second = Fairlock.lock(redis, key, **inner).try_acquire
        assert_equal may_both, !second.nil?, "#{outer} #{inner}"
        second&.release
        (may_both ? [] : [nil, 60]).each do |wait|
          error = assert_raises(Fairlock::Deadlock) do
            Fairlock.lock(redis, "other", key, wait: wait, **inner).acquire
          end
          assert_match(/\A#{key} is held by this thread already, as #{hold.owner}: /, error.message)
        end
      end
      assert_nothing_left key, "other"
    end
  end

  def test_so_is_one_with_a_channel_or_within_an_enumerator
    redis = client
    Fairlock::Channel.open(redis) do |channel|
      lock = Fairlock.lock(redis, "k", channel: channel)
      lock.synchronize do
        assert_raises(Fairlock::Deadlock) { lock.acquire }
        assert_raises(Fairlock::Deadlock) { Enumerator.new { |to| to << lock.acquire }.next }
      end
    end
  end

  def test_semaphores_count
    lock = Fairlock.lock(client, "k", limit: 2, wait: 60)
    lock.synchronize do
      lock.synchronize { assert_raises(Fairlock::Deadlock) { lock.acquire } }
    end
    assert_nothing_left "k"
  end

  def test_what_may_be_granted_is_asked_for
    redis = client
    hold = Fairlock.lock(redis, "k").acquire
    Fairlock.lock(redis, "other") { nil }
    Fairlock.lock(client(db: 3), "k") { nil }
    waiting = in_thread { Fairlock.lock(redis, "k", wait: 60).acquire }
    wait_until { waiters("k").any? }
    assert hold.release
    assert result_of(waiting).release
    hold = Fairlock.lock(redis, "named").acquire
    timer = in_thread { sleep(0.1) and hold.release }
    Fairlock.lock(redis, "named", owner: "next", wait: 60) { assert result_of(timer) }
  end

  def test_a_hold_that_has_ended_does_not_count
    redis = client
    [:release.to_proc, ->(_) { ask("BREAK", "k") },
     ->(hold) { hold.transfer("k") && ask("UNLOCK", "k", "k") }].each do |finish|
      hold = Fairlock.lock(redis, "k", lease: 0.3, renew: false).acquire
      finish.call(hold)
      wait_until { !hold.instance_variable_get(:@holding).held? }
      Fairlock.lock(redis, "k", wait: 60) { nil }
    end
  end

  # One fibre waits for another of the same thread, which then releases the lock.
  def test_fibres_with_a_scheduler_are_told_apart
    redis = client
    thread = in_thread do
      said = []
      Fiber.set_scheduler(TurnsOfFibres.new)
      Fairlock::Channel.open(redis) do |channel|
        lock = Fairlock.lock(redis, "k", wait: 20, channel: channel)
        fibres = Array.new(2) do |number|
          Fiber.schedule do
            lock.synchronize do
              said << number
              said << lock.acquire
            rescue Fairlock::Deadlock => error
              said << error.message[/held by this fibre already/]
              sleep(0.05)
              said << number
            end
          end
        end
        Fiber.scheduler.run
        assert(fibres.none?(&:alive?))
      end
      said
    end
    text = "held by this fibre already"
    assert_equal [0, text, 0, 1, text, 1], result_of(thread)
  end
end

class ReentrantTest < Case
  def test_the_last_release_ends_the_hold
    lock = Fairlock.lock(client, "k", wait: 60, reentrant: true)
    lock.synchronize do |outer|
      before = commands("lock")
      inner = lock.try_acquire
      lock.synchronize { |third| assert_equal [outer.token] * 2, [third.token, inner.token] }
      assert_equal before, commands("lock")
      assert_equal([true, false], Array.new(2) { inner.release })
      assert_match(/\Ak was released/, assert_raises(Fairlock::LostHold) { inner.check }.message)
      assert_equal [outer, 1], [outer.check, ask("LOCKED", "k", outer.owner)]
    end
    assert_nothing_left "k"
  end

  def test_releases_count_in_every_order
    redis = client
    [0, 1, 2].permutation do |order|
      holds = Array.new(3) { Fairlock.lock(redis, "k", reentrant: true).acquire }
      order.each do |number|
        assert_equal 1, ask("LOCKED", "k")
        assert_equal([true, false], Array.new(2) { holds[number].release })
      end
      assert_nothing_left "k"
      assert_equal [false] * 3, holds.map(&:release)
    end
  end

  def test_only_the_same_keys_in_the_same_way_are_shared
    redis = client
    [[["k"], %w[k j]], [%w[k j], ["k"]]].each do |outer, inner|
      Fairlock.lock(redis, *outer) do
        assert_raises(Fairlock::Deadlock) { Fairlock.lock(redis, *inner, reentrant: true).acquire }
      end
    end
    Fairlock.lock(redis, "k", "j") do |hold|
      Fairlock.lock(redis, "j", "k", reentrant: true) { |one| assert_equal hold.token, one.token }
    end
    [{ shared: true }, { limit: 2 }].each do |mode|
      Fairlock.lock(redis, "k", **mode) do |hold|
        Fairlock.lock(redis, "k", reentrant: true, **mode) do |inner|
          assert_equal [hold.token, 1], [inner.token, ask("LOCKED", "k")]
        end
        assert_raises(Fairlock::Deadlock) { Fairlock.lock(redis, "k", reentrant: true).acquire }
      end
    end
    assert_nothing_left "k", "j"
  end

  def test_other_owners_and_threads_do_not_share
    redis = client
    Fairlock.lock(redis, "k", owner: "me") do |hold|
      assert_nil Fairlock.lock(redis, "k", owner: "you", reentrant: true).try_acquire
      Fairlock.lock(redis, "k", owner: "me", reentrant: true) { nil }
      hold.check
      thread = in_thread { Fairlock.lock(redis, "k", reentrant: true).try_acquire }
      assert_nil result_of(thread)
    end
  end

  def test_a_loss_and_a_transfer_end_all
    lock = Fairlock.lock(client, "k", reentrant: true)
    assert_raises(Fairlock::LostHold) do
      lock.synchronize do |hold|
        assert_raises(Fairlock::LostHold) do
          lock.synchronize do
            ask("BREAK", "k")
            assert_raises(Fairlock::LostHold) { hold.renew }
          end
        end
      end
    end
    holds = Array.new(2) { lock.acquire }
    holds.last.transfer("heir")
    assert_equal [false, false], holds.map(&:release)
    assert_equal 1, ask("LOCKED", "k", "heir")
  end
end

class DroppedHoldTest < Case
  def setup
    super
    @log = StringIO.new
    Fairlock.logger = Logger.new(@log)
  end

  def teardown
    Fairlock.logger = nil
    super
  end

  # In a thread of its own, whose stack does not refer to the holds when it has ended. Words on the
  # stack that look like references may keep some of several holds.
  def drop(**options)
    redis = client
    keys = Array.new(5) { |number| "k:#{number}" }
    Thread.new do
      keys.each { |key| Fairlock.lock(redis, key, lease: 0.6, **options).acquire }
      nil
    end.join
    until_one_is_free(keys)
  end

  def until_one_is_free(keys)
    free = nil
    wait_until do
      GC.start
      free = keys.find { |key| ask("LOCKED", key).zero? }
    end
    keys.each { |key| ask("BREAK", key) }
    free
  end

  def text_about(key) = "fairlock: a hold of #{key} was dropped without a release: it ends with"

  def test_it_ends_with_its_lease
    Fairlock::Channel.open(client) do |channel|
      [{}, { on_lost: ->(_) { flunk } }, { channel: channel }].each do |options|
        key = drop(**options)
        wait_until { @log.string.include?(text_about(key)) }
        @log.string = +""
      end
    end
  end

  def test_without_a_logger_it_is_a_warning
    Fairlock.logger = nil
    verbose = $VERBOSE
    $VERBOSE = false # nil hides all warnings
    capture_io do
      key = drop
      wait_until { $stderr.string.include?(text_about(key)) }
    end
  ensure
    $VERBOSE = verbose
  end

  def test_one_that_is_kept_is_renewed
    redis = client
    outer = Fairlock.lock(redis, "outer", lease: 12).acquire
    inner = Fairlock.lock(redis, "outer", reentrant: true).acquire
    assert outer.release
    outer = nil
    lost = []
    hold = Fairlock.lock(redis, "k", lease: 12, on_lost: ->(one) { lost << one }).acquire
    wait_until do
      GC.start
      commands("renew") >= 2
    end
    assert_nil outer
    assert_equal [[], [true, true]], [lost, [hold, inner].map(&:release)]
    GC.start
    assert_empty @log.string
  end

  def test_nothing_is_said_at_the_end_of_the_process
    output = IO.popen([RbConfig.ruby, "-W0", "-I", File.join(__dir__, "../lib"), "-e",
                       "require 'fairlock'; " \
                       "$hold = Fairlock.lock(Redis.new(port: #{@server.port}), 'k').acquire"],
                      err: %i[child out], &:read)
    assert_empty output
  end
end
