# frozen_string_literal: true

# Many waits over one connection, with NOTIFY, against a real server.

require_relative "relay"
require_relative "support"

class ChannelTest < Case
  def setup
    super
    @shop = client(id: "shop")
    @channel = Fairlock::Channel.new(@shop)
  end

  def teardown
    @channel.close
    super
  end

  def lock(*keys, **options, &block)
    Fairlock.lock(@shop, *keys, channel: @channel, **options, &block)
  end

  def connections = ask("CLIENT", "LIST").scan("name=shop").size

  def test_waits_share_one_connection_and_are_granted_in_order
    order = []
    threads = []
    lock("k") do
      threads = Array.new(50) do |number|
        in_thread { lock("k", owner: "w#{number}") { order << number } }
          .tap { wait_until { waiters("k").size == number + 1 } }
      end
      assert_equal 2, connections
    end
    threads.each { |thread| result_of(thread) }
    assert_equal (0...50).to_a, order
    assert_equal 2, connections
    assert_nothing_left "k"
  end

  def test_a_time_out_names_the_holder
    ask("LOCK", "k", "other")
    found = assert_raises(Fairlock::Denied) { lock("k", wait: 0.2).acquire }.explanation
    assert_equal %w[timeout other], [found.status, found.holders.first.owner]
    assert_nil lock("k").try_acquire
    full = assert_raises(Fairlock::Denied) { lock("k", max_waiters: 0).acquire }
    assert_equal "full", full.explanation.reason
    assert_empty waiters("k")
  end

  def test_messages_that_are_not_the_servers_are_ignored
    ask("LOCK", "k", "other")
    waiter = in_thread { lock("k") { :held } }
    wait_until { waiters("k").size == 1 }
    ["", "text", "[]", "{}", '{"key":1,"owner":"x"}', '{"event":"granted","key":"k","owner":"x"}']
      .each { |text| ask("PUBLISH", @channel.name, text) }
    ask("UNLOCK", "k", "other")
    assert_equal :held, result_of(waiter)
  end

  def test_many_keys
    ask("LOCK", "b", "other")
    thread = in_thread { lock("a", "b").acquire }
    wait_until { waiters("a").any? }
    ask("UNLOCK", "b", "other")
    hold = result_of(thread)
    assert_equal 1, ask("CHECK", "b", hold.token)
    assert hold.release
    assert_nothing_left "a", "b"
  end

  def test_a_lost_hold_is_reported_at_once
    lost = Queue.new
    hold = lock("k", lease: 60, on_lost: lost.method(:<<)).acquire
    ask("BREAK", "k")
    wait_until(5) { !lost.empty? }
    assert_same hold, lost.pop
    assert_match(/broken/, assert_raises(Fairlock::LostHold) { hold.check }.message)
  end

  def test_another_request_that_ends_a_wait
    ask("LOCK", "k", "other")
    thread = in_thread { lock("k", owner: "me").acquire }
    wait_until { waiters("k").any? }
    ask("CANCEL", "k", "me")
    assert_match(/cancelled/, assert_raises(Fairlock::WaitEnded) { result_of(thread) }.message)
  end

  def test_an_interrupted_wait_leaves_no_place
    ask("LOCK", "k", "other")
    thread = in_thread { lock("k", keep: 60).acquire }
    wait_until { waiters("k").any? }
    thread.raise(Interrupt)
    assert_raises(Interrupt) { result_of(thread) }
    assert_empty waiters("k")
  end

  def test_messages_about_an_earlier_wait_of_the_owner_are_not_believed
    ask("LOCK", "k", "other")
    waiting = in_thread { lock("k", owner: "me", wait: 30).acquire }
    wait_until { waiters("k").any? }
    { "cancelled" => nil, "timeout" => nil, "granted" => 1 }.each do |event, token|
      ask("PUBLISH", @channel.name,
          JSON.generate(event: event, key: "k", owner: "me", token: token, reason: nil))
    end
    wait_until { commands("renew") == 1 && commands("position") == 1 }
    sleep 0.3
    assert_equal ["me"], waiters("k")
    ask("UNLOCK", "k", "other")
    hold = result_of(waiting)
    assert_equal 1, ask("CHECK", "k", hold.token)
    hold.release
  end

  def test_the_connection_of_the_channel_is_closed
    ask("LOCK", "k", "other")
    thread = in_thread { lock("k", owner: "me").acquire }
    wait_until { waiters("k").any? }
    ask("CLIENT", "KILL", "TYPE", "pubsub")
    wait_until { commands("subscribe") == 2 }
    ask("UNLOCK", "k", "other")
    assert result_of(thread).release
  end

  def test_a_transfer_is_not_a_loss
    lost = Queue.new
    lock("k", lease: 0.5, on_lost: lost.method(:<<)) do |hold|
      hold.transfer("other", lease: 60)
      sleep 0.7
    end
    assert_empty lost
    assert_equal 1, ask("LOCKED", "k", "other")
  end

  # The message that the hold has ended arrives before the reply.
  def test_a_transfer_whose_reply_is_late_is_not_a_loss
    relay = Relay.new(@server.port) { |request| request.include?("TRANSFER") ? 0.5 : 0 }
    lost = Queue.new
    slow = client(port: relay.port)
    Fairlock::Channel.open(slow) do |channel|
      hold = Fairlock.lock(slow, "k", channel: channel, on_lost: lost.method(:<<)).acquire
      assert_operator hold.transfer("other"), :>, 0
      assert_empty lost
    end
  ensure
    relay.close
  end

  def test_a_silent_connection_is_checked
    Fairlock::Channel.open(client(timeout: 0.2)) do |channel|
      wait_until { commands("publish") >= 4 }
      assert_equal 2, commands("subscribe")
      Fairlock.lock(@shop, "k", channel: channel) { nil }
    end
  end

  def test_a_channel_of_the_parent_is_refused
    reader, writer = IO.pipe
    process = fork do
      begin
        lock("k").acquire
      rescue Fairlock::Error => error
        writer.puts(error.message)
      end
      exit!(0)
    end
    Process.wait(process)
    assert_match(/opened by the parent/, reader.gets)
  end
end
