# frozen_string_literal: true

# What may go wrong while a thread waits for a lock or holds one, with a real server.

require "io/wait"

require_relative "relay"
require_relative "support"

class RenewalTest < Case
  def test_a_lease_is_renewed_when_a_third_is_left
    Fairlock.lock(client, "k", lease: 0.9) do |hold|
      sleep 2.1
      hold.check
      assert_equal 1, ask("CHECK", "k", hold.token)
      assert_includes 2..3, commands("renew")
    end
  end

  def test_a_lease_without_renewal_ends
    lost = Queue.new
    hold = Fairlock.lock(client, "k", lease: 0.2, renew: false, on_lost: lost.method(:<<)).acquire
    assert_same hold, next_of(lost)
    error = assert_raises(Fairlock::LostHold) { hold.token }
    assert_match(/lease of 0.2 s ended/, error.message)
    assert_equal 0, commands("renew")
    refute hold.release
    assert_empty lost
  end

  def test_a_hold_that_an_operator_breaks_is_reported_at_the_next_renewal
    lost = Queue.new
    error = assert_raises(Fairlock::LostHold) do
      Fairlock.lock(client, "k", lease: 0.3, on_lost: lost.method(:<<)) do |hold|
        ask("BREAK", "k")
        assert_same hold, next_of(lost)
        assert_match(/does not know it/, assert_raises(Fairlock::LostHold) { hold.check }.message)
      end
    end
    assert_match(/before it was released/, error.message)
    assert_empty lost
  end

  def test_a_renewal_never_shortens_the_lease
    hold = Fairlock.lock(client(timeout: 0.5), "k", lease: 60, renew: false).acquire
    hold.renew(lease: 0.1)
    assert_operator ask("PTTL", "k"), :>, 30_000
    Process.kill(:STOP, @server.process)
    assert_raises(Redis::TimeoutError) { hold.renew(lease: 0.1) }
    hold.check
    Process.kill(:CONT, @server.process)
    sleep 0.2
    hold.check
    assert_equal 1, ask("CHECK", "k", hold.token)
  ensure
    Process.kill(:CONT, @server.process)
  end

  def test_a_failed_block_raises_its_own_error
    assert_raises(ZeroDivisionError) do
      Fairlock.lock(client, "k") do
        ask("BREAK", "k")
        1 / 0
      end
    end
  end

  def test_a_lost_hold_raises_in_a_rescue_too
    raise "an earlier error"
  rescue RuntimeError
    assert_raises(Fairlock::LostHold) { Fairlock.lock(client, "k") { ask("BREAK", "k") } }
  end

  def test_a_grant_after_a_long_wait_is_confirmed
    ask("LOCK", "k", "other", "PX", 20_000)
    thread = in_thread { Fairlock.lock(client, "k", lease: 0.8, renew: false).acquire }
    wait_until { waiters("k").any? }
    sleep 0.9
    ask("UNLOCK", "k", "other")
    hold = result_of(thread)
    hold.check
    assert_equal 1, commands("renew")
    assert hold.release
  end

  # The reply is delayed, so a lease that counts from the reply would end too late.
  def test_the_lease_counts_from_the_request
    relay = Relay.new(@server.port) { 0.3 }
    begun = Fairlock.now
    hold = Fairlock.lock(client(port: relay.port), "k", lease: 4, renew: false).acquire
    assert_includes (begun + 4)..(begun + 4.25), hold.deadline
  ensure
    relay.close
  end

  def test_renewing_a_lost_hold_raises
    hold = Fairlock.lock(client, "k").acquire
    ask("BREAK", "k")
    assert_raises(Fairlock::LostHold) { hold.renew }
  end
end

class ReconnectionTest < Case
  def test_a_read_time_out_shorter_than_the_wait_keeps_the_place
    ask("LOCK", "k", "other")
    first = in_thread do
      Fairlock.lock(client(timeout: 0.3), "k", owner: "first", wait: 20, keep: 20).acquire
    end
    wait_until { waiters("k") == ["first"] }
    second = in_thread { Fairlock.lock(client, "k", owner: "second", wait: 20).acquire }
    sleep 1
    assert_equal %w[first second], waiters("k")
    assert_operator commands("lock"), :<=, 7
    ask("UNLOCK", "k", "other")
    hold = result_of(first)
    assert_equal ["second"], waiters("k")
    hold.release
    assert result_of(second).release
  end

  def test_a_wait_sends_one_request_and_a_broken_connection_is_opened_again
    ask("LOCK", "k", "other")
    thread = in_thread do
      Fairlock.lock(client(id: "waiter", timeout: 20), "k", owner: "me", keep: 20).acquire
    end
    wait_until { waiters("k") == ["me"] }
    sleep 0.3
    assert_equal 2, commands("lock")
    number = ask("CLIENT", "LIST")[/^id=(\d+) .*name=waiter/, 1]
    ask("CLIENT", "KILL", "ID", number)
    wait_until { commands("lock") == 3 }
    ask("UNLOCK", "k", "other")
    assert result_of(thread).release
  end

  def test_a_try_survives_a_connection_that_was_closed_while_it_was_idle
    redis = client(id: "idle")
    assert Fairlock.lock(redis, "k").try_acquire.release
    ask("CLIENT", "KILL", "ID", ask("CLIENT", "LIST")[/^id=(\d+) .*name=idle/, 1])
    assert Fairlock.lock(redis, "k").try_acquire.release
  end
end

class LostReplyTest < Case
  # The release has been executed, so the second one finds nothing to release.
  def test_a_release_whose_reply_is_lost
    cuts = 1
    relay = Relay.new(@server.port) do |request|
      request.include?("UNLOCK") && (cuts -= 1) >= 0 ? :cut : 0
    end
    assert Fairlock.lock(client(port: relay.port), "k").acquire.release
    assert_operator cuts, :<, 0
    assert_equal 2, commands("unlock")
  ensure
    relay.close
  end

  # The hold itself says nothing while the answer is missing: tests/clients/conformance.
  def test_a_transfer_that_nobody_confirms
    relay = Relay.new(@server.port) { |request| request.include?("TRANSFER") ? :cut : 0 }
    lost = Queue.new
    hold = Fairlock.lock(client(port: relay.port), "k", on_lost: lost.method(:<<)).acquire
    assert_raises(Redis::BaseConnectionError) { hold.transfer("other") }
    assert_match(/not confirmed its transfer to other/,
                 assert_raises(Fairlock::LostHold) { hold.check }.message)
    assert_same hold, lost.pop
    refute hold.release
    assert_equal 1, ask("LOCKED", "k", "other")
  ensure
    relay.close
  end
end

class RestartTest < Case
  def setup
    @folder = Dir.mktmpdir
    super
  end

  def teardown
    super
    FileUtils.rm_rf(@folder)
  end

  def server_options = ["--durability", "async", "--data-dir", @folder]

  def restart(signal)
    @server.stop(signal)
    assert @server.start
  end

  def test_a_restart_while_waiting_and_holding
    lost = Queue.new
    redis = client
    holder = Fairlock.lock(redis, "k", lease: 3, on_lost: lost.method(:<<)).acquire
    waiting = in_thread { Fairlock.lock(redis, "k", owner: "second", keep: 20).acquire }
    wait_until { waiters("k") == ["second"] }
    %i[TERM KILL].each do |signal|
      restart(signal)
      wait_until { waiters("k") == ["second"] }
      sleep 1.2
      holder.check
    end
    assert holder.release
    hold = result_of(waiting)
    assert_equal 1, ask("CHECK", "k", hold.token)
    assert hold.release
    assert_empty lost
  end

  def test_a_server_that_is_away_for_longer_than_the_lease
    lost = Queue.new
    hold = Fairlock.lock(client, "k", lease: 0.5, on_lost: lost.method(:<<)).acquire
    @server.stop(:KILL)
    assert_same hold, next_of(lost)
    assert_raises(Fairlock::LostHold) { hold.token }
    assert @server.start
    refute hold.release
  end

  def test_a_release_waits_for_the_restart
    hold = Fairlock.lock(client, "k", lease: 60).acquire
    @server.stop(:KILL)
    thread = in_thread { hold.release }
    sleep 0.2
    assert @server.start
    assert result_of(thread)
    assert_nothing_left "k"
  end
end

class ProcessTest < Case
  # Runs a program that uses `redis`.
  def start_child(text)
    program = "$stdout.sync = true\nrequire 'fairlock'\nredis = Redis.new(port: #{@server.port})\n"
    @child = IO.popen([RbConfig.ruby, "-I#{File.join(__dir__, '../lib')}", "-e", program + text],
                      "r+", err: %i[child out])
  end

  def next_line
    @child.wait_readable(WAIT_SECONDS_MAX) || flunk("the child says nothing")
    @child.gets&.chomp
  end

  def teardown
    super
    return if @child.nil?

    Process.kill(:KILL, @child.pid)
    @child.close
  end

  def test_a_stopped_process_that_lost_its_lease_learns_it_before_it_acts
    child = start_child(<<~RUBY)
      lost = Queue.new
      hold = Fairlock.lock(redis, "k", lease: 0.6, on_lost: lost.method(:<<)).acquire
      puts hold.token
      $stdin.gets
      begin
        puts hold.token
      rescue Fairlock::LostHold
        puts "lost"
      end
      lost.pop
      puts "told"
    RUBY
    assert_match(/^\d+$/, next_line)
    Process.kill(:STOP, child.pid)
    Fairlock.lock(client, "k", wait: 10) do |hold|
      child.puts
      Process.kill(:CONT, child.pid)
      assert_equal %w[lost told], [next_line, next_line]
      assert_equal 1, ask("CHECK", "k", hold.token)
    end
  end

  def test_a_forked_child_neither_renews_nor_releases
    start_child(<<~RUBY)
      number = nil
      Fairlock.lock(redis, "k", lease: 0.9) do |hold|
        number = fork
        if number.nil?
          begin
            hold.token
          rescue Fairlock::LostHold
            puts "not mine"
          end
          sleep 1.2
        else
          Process.wait(number)
          puts $?.exitstatus
          hold.check
          puts redis.call("LOCKED", "k")
        end
      end
      if number.nil?
        # The block has ended in the child, which may take a lock of its own.
        Fairlock.lock(redis, "of the child").acquire
        exit!(7)
      end
      puts redis.call("LOCKED", "k")
      exit!(0)
    RUBY
    assert_equal ["not mine", "7", "1", "0"], Array.new(4) { next_line }
    assert_equal 1, ask("LOCKED", "of the child")
  end

  def test_a_process_that_dies_leaves_its_lease
    child = start_child(%(Fairlock.lock(redis, "k", lease: 0.5).acquire; puts "held"; sleep))
    assert_equal "held", next_line
    Process.kill(:KILL, child.pid)
    Fairlock.lock(client, "k", wait: 10) { nil }
  end

  def test_ctrl_c_while_waiting
    ask("LOCK", "k", "other")
    child = start_child(<<~RUBY)
      begin
        Fairlock.lock(redis, "k", keep: 60, wait: 60) { nil }
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    wait_until { waiters("k").any? }
    Process.kill(:INT, child.pid)
    assert_equal "interrupted", next_line
    assert_empty waiters("k")
  end
end
