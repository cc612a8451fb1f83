# frozen_string_literal: true

# Interrupts of a thread that takes and releases a lock, with a real server.

require "timeout"

require_relative "support"

# Raises Interrupt at one line of the library after the other, as a signal may.
class InterruptAtEveryLineTest < Case
  SOURCE = File.expand_path("../lib/fairlock", __dir__)

  # Returns whether the call had that many lines.
  def interrupted_at_line?(number, &call)
    lines = 0
    thread = Thread.current
    trace = TracePoint.new(:line) do |point|
      next unless Thread.current == thread && point.path.start_with?(SOURCE)

      lines += 1
      if lines == number
        @where = "#{point.path}:#{point.lineno}"
        trace.disable
        raise Interrupt
      end
    end
    trace.enable(&call)
    false
  rescue Interrupt
    true
  ensure
    trace.disable
  end

  def interrupt_everywhere(call, prepare = -> {})
    number = 0
    loop do
      number += 1
      prepare.call
      was_interrupted = interrupted_at_line?(number, &call)
      assert_equal 0, ask("LOCKED", "k", "me"), @where
      refute_includes waiters("k"), "me", @where
      return number unless was_interrupted
    end
  end

  def test_of_a_lock_that_is_free
    lock = Fairlock.lock(client, "k", lease: 60, owner: "me", renew: false)
    assert_operator interrupt_everywhere(-> { lock.synchronize { nil } }), :>, 50
  end

  def test_of_a_lock_that_is_waited_for
    lock = Fairlock.lock(client, "k", lease: 60, owner: "me", keep: 60, renew: false)
    releases = client
    prepare = lambda do
      @release&.join
      ask("LOCK", "k", "other")
      @release = Thread.new { sleep(0.01) and releases.call("UNLOCK", "k", "other") }
    end
    assert_operator interrupt_everywhere(-> { lock.synchronize { nil } }, prepare), :>, 50
    @release.join
  end
end

# What one thread can do to another.
class InterruptTest < Case
  def setup
    super
    ask("LOCK", "k", "other")
  end

  def assert_no_place(thread)
    thread.join(WAIT_SECONDS_MAX) || flunk("the call did not end")
    assert_empty waiters("k")
  rescue Interrupt
    assert_empty waiters("k")
  end

  def test_a_thread_that_is_killed_while_it_waits
    lock = Fairlock.lock(client, "k", keep: 60)
    [-> { lock.acquire }, -> { lock.synchronize { flunk } }].each do |call|
      thread = in_thread(&call)
      wait_until { waiters("k").any? }
      assert_no_place(thread.kill)
    end
  end

  def test_a_wait_within_a_time_limit
    lock = Fairlock.lock(client, "k", keep: 60)
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { lock.synchronize { flunk } } }
    assert_empty waiters("k")
  end

  # The release of the other owner and the interrupt race.
  def test_a_grant_at_the_moment_of_the_interrupt
    lock = Fairlock.lock(client, "k", owner: "me", keep: 60)
    20.times do |number|
      ask("LOCK", "k", "other")
      thread = in_thread { lock.synchronize { sleep 0.001 } }
      wait_until { waiters("k").any? }
      number.even? ? thread.raise(Interrupt) : thread.kill
      ask("UNLOCK", "k", "other")
      assert_no_place(thread)
      assert_equal 0, ask("LOCKED", "k", "me")
    end
  end

  def test_a_thread_that_is_killed_within_the_block
    begun = Queue.new
    lock = Fairlock.lock(client, "free")
    thread = in_thread { lock.synchronize { begun << true and sleep } }
    begun.pop
    thread.kill.join
    assert_nothing_left "free"
  end
end
