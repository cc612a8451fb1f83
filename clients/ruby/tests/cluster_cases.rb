# frozen_string_literal: true

# Locks over the cluster client of the gem. cluster_test.py starts the fleet.

require_relative "cluster_job_cases"
require_relative "cluster_support"
require_relative "readme_examples"

class ClusterLockTest < FleetCase
  def test_slots_are_those_of_the_server
    slots = Fairlock.const_get(:HashSlot)
    ["k", "{a}b", "x{a}", "{}x", "{}{a}", "{a", "a}b{c}", "{{a}}", "\xFF{\xFE}".b, "123456789"]
      .each { |key| assert_equal ask("CLUSTER", "KEYSLOT", key), slots.of(key), key.inspect }
    [0, 5, 16_383].each { |slot| assert_equal slot, slots.of(slots.text(slot)) }
  end

  def test_the_example_of_the_readme
    text = ReadmeExamples.all.find { |example| example.include?("cluster:") }
    list = text[/cluster: (\[.*\])/, 1]
    assert_equal 2, ReadmeExamples.run(text, list => NODES.first(2).inspect).size
  end

  def test_locks_of_every_partition
    redis = client
    keys.each do |key|
      token = Fairlock.lock(redis, key, lease: 60, wait: 10) do |hold|
        assert_equal 1, ask("CHECK", key, hold.token)
        hold.renew(lease: 90)
        assert_operator ask("PTTL", key), :>, 61_000
        assert_nil Fairlock.lock(redis, key).try_acquire
        hold.token
      end
      Fairlock.lock(redis, key) { |hold| assert_operator hold.token, :>, token }
      assert_nothing_left key
    end
  end

  def test_waits_are_granted_in_order
    redis = client
    keys.each do |key|
      ask("LOCK", key, "other")
      order = []
      threads = Array.new(3) do |number|
        in_thread { Fairlock.lock(redis, key, owner: "w#{number}") { order << number } }
          .tap { wait_until { waiters(key).size == number + 1 } }
      end
      ask("UNLOCK", key, "other")
      threads.each { |thread| result_of(thread) }
      assert_equal [0, 1, 2], order
      assert_nothing_left key
    end
  end

  def test_kinds_of_locks
    redis = client
    one, other = keys
    [{ limit: 2 }, { shared: true }].each do |options|
      holds = Array.new(2) { Fairlock.lock(redis, one, **options).acquire }
      assert_nil Fairlock.lock(redis, one).try_acquire
      holds.each { |hold| assert hold.release }
    end
    assert Fairlock.lock(redis, one, min_hold: 60).acquire.release
    denied = assert_raises(Fairlock::Denied) { Fairlock.lock(redis, one, wait: 0.1).acquire }
    assert_equal %w[timeout cooling], [denied.explanation.status, denied.explanation.reason]
    token = Fairlock.lock(redis, other) { |hold| hold.transfer("worker-2") }
    Fairlock.lock(redis, other, owner: "worker-2") { |hold| assert_equal token, hold.token }
    assert_nothing_left other
  end

  def test_several_keys_have_one_slot
    redis = client
    keys.each do |key|
      Fairlock.lock(redis, "{#{key}}:a", "{#{key}}:b") do |hold|
        hold.keys.each { |one| assert_equal 1, ask("CHECK", one, hold.token) }
        hold.renew
      end
      assert_nothing_left "{#{key}}:a", "{#{key}}:b"
    end
    Fairlock::Channel.open(redis) do |channel|
      [{}, { channel: channel }].each do |options|
        error = assert_raises(Redis::CommandError) do
          Fairlock.lock(redis, *keys, wait: 60, **options).acquire
        end
        assert_match(/\ACROSSSLOT/, error.message)
      end
    end
  end

  def test_a_connection_pool_of_cluster_clients
    require "connection_pool"
    pool = ConnectionPool.new(size: 1) { client }
    keys.each { |key| Fairlock.lock(pool, key) { assert_equal 1, ask("LOCKED", key) } }
  end

  def test_the_options_of_the_client
    [{ host: "127.0.0.1", port: URI(NODES.first).port }, NODES.first].each do |node|
      redis = Redis.new(cluster: [node], id: "named", timeout: 3)
      @clients << redis
      keys.each { |key| Fairlock.lock(redis, key) { nil } }
      assert_equal 3, Fairlock.const_get(:Connections).of(redis).read_timeout
    end
    assert_operator connections("named").sum, :>=, 2
  end

  def test_the_user_and_the_password_of_the_nodes
    password = ENV.fetch("PASSWORD")
    in_url = NODES.map { |node| node.sub("//", "//app:#{password.gsub(' ', '%20')}@") }
    [{ cluster: in_url }, { cluster: NODES, username: "app", password: password }].each do |options|
      redis = Redis.new(**options)
      @clients << redis
      Fairlock::Channel.open(redis) do |channel|
        keys.each do |key|
          Fairlock.lock(redis, key) { nil }
          Fairlock.lock(redis, key, channel: channel) { refute_empty as_user("app") }
        end
      end
    end
  end

  def as_user(name) = at_each_node("CLIENT", "LIST").select { |list| list.include?("user=#{name}") }

  def test_a_plain_client_is_told_what_it_needs
    moved = keys.flat_map do |key|
      plain_clients.filter_map do |redis|
        Fairlock.lock(redis, key, wait: 30).acquire.release
        nil
      rescue Fairlock::NeedsCluster => error
        error.message
      end
    end
    assert_equal 6, moved.size
    assert_match(/Redis\.new\(cluster: \[\.\.\.\]\), got MOVED \d+ 127/, moved.first)
  end

  def test_a_semaphore_and_its_winner
    semaphore = Fairlock::Semaphore.new(client)
    keys.each do |key|
      winner = in_thread { semaphore.with_lock(key) { |state| sleep 0.3 and state } }
      wait_until { ask("LOCKED", "semaphore_lock:#{key}") == 1 }
      assert_equal(:skipped, semaphore.with_lock(key) { |state| state })
      assert semaphore.wait_for_winner(key, 5)
      assert_equal :locked, result_of(winner)
    end
  end

  def test_a_fork
    redis = client
    holds = keys.map { |key| Fairlock.lock(redis, key).acquire }
    child = fork do
      keys.each { |key| Fairlock.lock(redis, "#{key}:child").acquire }
      exit!(holds.none?(&:release))
    end
    Process.wait(child)
    assert_predicate $CHILD_STATUS, :success?
    holds.each { |hold| assert hold.release }
    keys.each { |key| assert_equal 1, ask("LOCKED", "#{key}:child") }
  end
end

class ClusterChannelTest < FleetCase
  def setup
    super
    @shop = client(id: "shop", timeout: 2)
    @channel = Fairlock::Channel.new(@shop)
  end

  def teardown
    @channel.close
    super
  end

  def lock(*keys, **options, &block)
    Fairlock.lock(@shop, *keys, channel: @channel, **options, &block)
  end

  # Two connections for each leader, and one for each other node that was asked who leads.
  def test_waits_in_several_partitions
    all = Array.new(20) { |number| "#{name}:#{number}" }
    all.each { |key| ask("LOCK", key, "other") }
    threads = all.flat_map do |key|
      Array.new(2) { |number| in_thread { lock(key, owner: "w#{number}") { key } } }
    end
    all.each { |key| wait_until { waiters(key).size == 2 } }
    assert_operator connections("shop").sum, :<=, 6
    assert_equal 20, subscribed(@channel.name).uniq.size
    all.reverse_each { |key| ask("UNLOCK", key, "other") }
    results = threads.map { |thread| result_of(thread) }
    assert_equal all.flat_map { |key| [key, key] }, results
    assert_nothing_left(*all)
    wait_until { subscribed(@channel.name).empty? }
    lock(all.first) { nil }
  end

  def test_keys_that_do_not_fit_into_a_name
    ["a}b", "{}x", "x" * 200, "\xFF".b, "two words"].each do |key|
      ask("LOCK", key, "other")
      thread = in_thread { lock(key).acquire }
      wait_until { waiters(key).any? }
      ask("UNLOCK", key, "other")
      assert result_of(thread).release
    end
  end

  def test_a_lost_hold_is_reported_at_once
    keys.each do |key|
      lost = Queue.new
      hold = lock(key, lease: 60, on_lost: lost.method(:<<)).acquire
      ask("BREAK", key)
      assert_same hold, next_of(lost)
    end
  end

  def test_an_interrupted_wait_leaves_no_place
    keys.each do |key|
      ask("LOCK", key, "other")
      thread = in_thread { lock(key, keep: 60).acquire }
      wait_until { waiters(key).any? }
      thread.raise(Interrupt)
      assert_raises(Interrupt) { result_of(thread) }
      assert_empty waiters(key)
    end
  end

  def test_a_time_out_names_the_holder
    keys.each do |key|
      ask("LOCK", key, "other")
      found = assert_raises(Fairlock::Denied) { lock(key, wait: 0.2).acquire }.explanation
      assert_equal %w[timeout other], [found.status, found.holders.first.owner]
    end
  end
end

class ClusterFailOverTest < FleetCase
  def hold_and_wait(redis, key, **options)
    lost = Queue.new
    hold = Fairlock.lock(redis, key, lease: 20, on_lost: lost.method(:<<), **options).acquire
    waiting = Array.new(2) do |number|
      in_thread { Fairlock.lock(redis, key, owner: "w#{number}", keep: 60, **options).acquire }
        .tap { wait_until { waiters(key).size == number + 1 } }
    end
    [hold, waiting, lost]
  end

  # A renewal in the background does not need this.
  def renew(hold)
    hold.renew
  rescue Redis::BaseError => error
    raise unless error.is_a?(Redis::BaseConnectionError) ||
                 error.message.start_with?("CLUSTERDOWN", "LOADING")

    sleep 0.05
    retry
  end

  def assert_both_are_granted_in_order(hold, waiting, lost)
    renew(hold)
    token = hold.token
    assert hold.release
    first, second = waiting.map do |thread|
      granted = result_of(thread)
      granted.token.tap { assert granted.release }
    end
    assert_operator token, :<, first
    assert_operator first, :<, second
    assert_empty lost
  end

  def test_holds_and_waits_survive_a_fail_over
    redis = client
    %w[kill fail_over].each do |verb|
      keys.each do |key|
        parts = hold_and_wait(redis, key)
        order("#{verb} #{key}")
        wait_until { waiters(key).size == 2 }
        assert_both_are_granted_in_order(*parts)
        assert_nothing_left key
        order("heal")
      end
    end
  end

  def test_channels_survive_a_fail_over
    redis = client(timeout: 1)
    Fairlock::Channel.open(redis) do |channel|
      %w[kill fail_over].each do |verb|
        all = keys.map { |key| hold_and_wait(redis, key, channel: channel) }
        order("#{verb} #{keys.first}")
        keys.each { |key| wait_until { waiters(key).size == 2 } }
        all.each { |parts| assert_both_are_granted_in_order(*parts) }
        assert_nothing_left(*keys)
        order("heal")
      end
    end
  end

  # Nobody waits, so the channel moves to the new leader without being asked to.
  def test_a_channel_reports_a_loss_after_a_fail_over
    redis = client(timeout: 1)
    key = keys.first
    Fairlock::Channel.open(redis) do |channel|
      lost = Queue.new
      hold = Fairlock.lock(redis, key, lease: 60, channel: channel,
                                       on_lost: lost.method(:<<)).acquire
      order("kill #{key}")
      ask("LOCKED", key)
      wait_until { subscribed_at_leader?(channel.name, key) }
      ask("BREAK", key)
      assert_same hold, next_of(lost)
    end
  end

  def subscribed_at_leader?(name, key)
    leader = plain_clients.find do |redis|
      redis.call("LOCKED", key)
    rescue Redis::BaseError
      false
    end
    leader&.call("PUBSUB", "CHANNELS", "#{name}*")&.any?
  end

  def test_an_interrupt_during_a_fail_over_leaves_nothing
    redis = client
    Fairlock::Channel.open(redis) do |channel|
      [{}, { channel: channel }].each do |options|
        key = keys.first
        ask("LOCK", key, "other", "PX", 60_000)
        threads = Array.new(4) do |number|
          in_thread { Fairlock.lock(redis, key, owner: "w#{number}", keep: 60, **options).acquire }
        end
        wait_until { waiters(key).size == 4 }
        order("kill #{key}")
        threads.each_with_index do |thread, number|
          sleep 0.3 * number
          thread.raise(Interrupt)
        end
        threads.each { |thread| assert_raises(Interrupt) { result_of(thread) } }
        ask("UNLOCK", key, "other")
        assert_nothing_left key
        order("heal")
      end
    end
  end

  def test_a_subscription_at_a_standby_leaves_no_wait_hanging
    redis = client
    key = keys.first
    Fairlock::Channel.open(redis) do |channel|
      cluster = channel.instance_variable_get(:@connections)
      Fairlock.lock(redis, key, channel: channel) { nil }
      standby = NODES.map { |node| node.delete_prefix("redis://") }
                     .find { |address| address != cluster.address(0) }
      slot = Fairlock.const_get(:HashSlot).of(key)
      cluster.redirected?(Redis::CommandError.new("MOVED #{slot} #{standby}"))
      ask("LOCK", key, "other")
      thread = in_thread { Fairlock.lock(redis, key, channel: channel).acquire }
      wait_until { waiters(key).any? }
      ask("UNLOCK", key, "other")
      assert result_of(thread).release
    end
  end
end
