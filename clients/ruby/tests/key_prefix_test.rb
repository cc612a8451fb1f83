# frozen_string_literal: true

# The same key of a Redis::Namespace is the same key on the server, for locks too, and a client's
# database is that of its locks.

require "connection_pool"
require "redis-namespace"

require_relative "support"
require "fairlock/sidekiq"

class KeyPrefixTest < Case
  COMMANDS = %w[BREAK LOCK LOCKINFO MLOCK MRENEW MUNLOCK POSITION RENEW TRANSFER UNLOCK WAIT].freeze
  KEYS = %w[k i j l s s:k].freeze

  # The kinds of clients: what they are made from a Redis, and their prefix.
  KINDS = {
    "a namespace" => [->(redis) { namespace(:shop, redis) }, "shop:"],
    "no namespace" => [->(redis) { namespace(nil, redis) }, ""],
    "an empty namespace" => [->(redis) { namespace("", redis) }, ":"],
    "bytes" => [->(redis) { namespace("l\xC3\xA4den", redis) }, "l\xC3\xA4den:"],
    "patterns" => [->(redis) { namespace("a*?[b]\\", redis) }, "a*?[b]\\:"],
    "nested" => [->(redis) { namespace("in", namespace("out", redis)) }, "out:in:"],
    "nested, without a name" => [->(redis) { namespace("in", namespace(nil, redis)) }, "in:"],
    "a Proc" => [->(redis) { namespace(-> { "tenant7" }, redis) }, "tenant7:"],
    "a pool" => [->(redis) { pool { namespace("shop", redis.dup) } }, "shop:"],
    "around a pool" => [->(redis) { namespace("out", wrapper { redis }) }, "out:"],
    "around a pool of namespaces" =>
      [->(redis) { namespace("in", wrapper { namespace("out", redis) }) }, "out:in:"]
  }.freeze

  def self.namespace(name, redis) = Redis::Namespace.new(name, redis: redis, warning: false)
  def self.pool(&block) = ConnectionPool.new(size: 2, &block)
  def self.wrapper(&block) = ConnectionPool::Wrapper.new(size: 1, &block)

  def each_kind
    KINDS.each do |kind, (make, prefix)|
      @outside.call("FLUSHALL")
      redis = make.call(client)
      @kind = kind
      yield redis, ->(key) { prefix + key }
    end
  end

  # Calls a method of the gem.
  def call(redis, name, *words, **options)
    return redis.with { |one| call(one, name, *words, **options) } if redis.is_a?(ConnectionPool)

    redis.public_send(name, *words, **options)
  end

  def test_a_lock_and_a_set_of_the_same_client_exclude_each_other
    each_kind do |redis, on_server|
      assert call(redis, :set, "order:42", "old program", nx: true, px: 60_000), @kind
      assert_nil Fairlock.lock(redis, "order:42").try_acquire, @kind
      assert_equal 1, call(redis, :del, "order:42")
      hold = Fairlock.lock(redis, "order:42").acquire
      refute call(redis, :set, "order:42", "old program", nx: true), @kind
      assert_equal 1, ask("CHECK", on_server["order:42"], hold.token), @kind
      hold.release
    end
  end

  def test_what_a_program_sees_has_no_prefix
    each_kind do |redis, on_server|
      ask("LOCK", on_server["b"], "other")
      denied = assert_raises(Fairlock::Denied) { Fairlock.lock(redis, "a", "b", wait: 0) { flunk } }
      assert_equal "b", denied.explanation.key, @kind
      assert_match(/\Aa, b not granted: held by other for .* s \(b\)/, denied.message)
      hold = Fairlock.lock(redis, "c", "d").acquire
      assert_equal %w[c d], hold.keys
      hold.release
      lost = assert_raises(Fairlock::LostHold) { hold.check }
      assert_equal "c, d was released", lost.message
    end
  end

  def test_each_key_that_is_sent_has_the_prefix_once
    each_kind do |redis, on_server|
      seen = recorded { send_all(redis, on_server) }.filter_map do |words|
        keys = keys_of(words)
        assert_empty keys - KEYS.map(&on_server).map(&:b), "#{@kind}: #{words}"
        words.first.upcase if keys.any?
      end
      assert_equal COMMANDS, seen.uniq.sort & COMMANDS, @kind
    end
  end

  def test_a_namespace_that_changes_applies_to_the_next_acquisition
    tenant = "a"
    redis = KeyPrefixTest.namespace(-> { tenant }, client)
    lock = Fairlock.lock(redis, "k")
    first = lock.acquire
    tenant = "b"
    second = lock.acquire
    assert first.release
    assert_equal [0, 1], [ask("LOCKED", "a:k"), ask("LOCKED", "b:k")]
    assert second.release
  end

  def test_namespaces_share_the_connections_of_their_client
    redis = client(id: "shared")
    20.times { |n| Fairlock.lock(KeyPrefixTest.namespace("t#{n}", redis), "k") { nil } }
    assert_operator ask("CLIENT", "LIST").scan("name=shared").size, :<=, 2
  end

  def test_the_store_lists_and_deletes_within_its_namespace
    each_kind do |redis, on_server|
      store = Fairlock::Sidekiq::Store.new(redis)
      ask("LOCK", "beside:s", "other", "LABEL", "until_executed")
      assert store.lock("s", "job", type: "until_executed", limit: 1, ttl: 60, meta: {})
      digests = store.list("*").map(&:digest)
      assert_includes digests, "s", @kind
      refute_includes digests, "beside:s", @kind unless on_server["s"] == "s"
      assert_equal ["s"], store.delete("s"), @kind
      assert_equal [0, 1], [ask("LOCKED", on_server["s"]), ask("LOCKED", "beside:s")], @kind
    end
  end

  def test_the_database_of_the_client_is_that_of_its_locks
    in_database = ->(db) { client(db: db).call("LOCKED", "k") }
    redis = client(db: 3)
    hold = Fairlock.lock(redis, "k").acquire
    Fairlock::Channel.open(redis) do |channel|
      waiting = in_thread { Fairlock.lock(redis, "k", channel: channel).acquire }
      wait_until { !client(db: 3).call("QUEUE", "k").empty? }
      assert_equal [0, 1], [in_database[0], in_database[3]]
      hold.release
      hold = result_of(waiting)
    end
    redis.select(4)
    other = Fairlock.lock(redis, "k").acquire
    assert_equal [0, 1, 1], [in_database[0], in_database[3], in_database[4]]
    assert hold.release
    assert other.release
  end

  private

  # The commands of the clients during the block; not those of this test itself.
  def recorded
    commands = Queue.new
    own = ask("CLIENT", "INFO")[/\baddr=(\S+)/, 1]
    monitor = client(read_timeout: 60)
    watcher = in_thread do
      monitor.monitor { |line| commands << line unless line.include?(own) }
    end
    wait_until { commands.size.positive? }
    yield
    ask("PING")
    wait_until { commands.size > COMMANDS.size }
    sleep 0.1
    watcher.kill
    Array.new(commands.size) { commands.pop }.filter_map { |line| words_in(line) }
  end

  # Reads a line such as: 1764284400.5 [0 127.0.0.1:40776] "LOCK" "k"
  def words_in(line)
    words = line.b.scan(/"((?:[^"\\]|\\.)*)"/n).flatten
    words.map { |word| plain(word) } unless words.empty?
  end

  def plain(word)
    word.gsub(/\\x\h\h|\\./n) { |escape| escape.size == 4 ? escape[2..].hex.chr : escape[1] }
  end

  def keys_of(words)
    ask("COMMAND", "GETKEYS", *words).map(&:b)
  rescue Redis::CommandError
    []
  end

  # Makes the library send each of its commands.
  def send_all(redis, on_server)
    Fairlock::Channel.open(KeyPrefixTest.namespace("unused", client)) do |channel|
      hold = send_about_one_key(redis, on_server, channel)
      send_about_ends(redis, on_server, channel)
      assert hold.release
    end
    both = Fairlock.lock(redis, "i", "j").acquire
    both.renew
    assert both.release
    assert Fairlock::Semaphore.new(redis, namespace: "s").wait_for_winner("k", 1)
    use_store(Fairlock::Sidekiq::Store.new(redis))
  end

  def send_about_one_key(redis, on_server, channel)
    hold = Fairlock.lock(redis, "k", lease: 60).acquire
    hold.renew
    assert_raises(Fairlock::Denied) { Fairlock.lock(redis, "k", owner: "a", wait: 0.03) { flunk } }
    waiting = in_thread { Fairlock.lock(redis, "k", owner: "next", channel: channel).acquire }
    wait_until { waiters(on_server["k"]) == ["next"] }
    hold.transfer("other")
    ask("UNLOCK", on_server["k"], "other")
    result_of(waiting).tap do |next_hold|
      assert_equal ask("LOCK", on_server["k"], "next"), next_hold.token
    end
  end

  def send_about_ends(redis, on_server, channel)
    ended = in_thread { Fairlock.lock(redis, "k", owner: "last", channel: channel).acquire }
    wait_until { waiters(on_server["k"]) == ["last"] }
    ask("CANCEL", on_server["k"], "last")
    assert_raises(Fairlock::WaitEnded) { result_of(ended) }
    lost = Queue.new
    broken = Fairlock.lock(redis, "l", channel: channel, on_lost: ->(hold) { lost << hold }).acquire
    ask("BREAK", on_server["l"])
    assert_same broken, next_of(lost)
  end

  def use_store(store)
    assert store.lock("s", "job", type: "until_executed", limit: 1, ttl: 60, meta: {})
    assert_equal "job", store.find("s").holders.first.jid
    assert store.replace("s", "job", "newer")
    assert store.unlock("s", "newer")
    store.hold("s", "job", type: "while_executing", limit: 1, meta: {}) { nil }
    store.delete_one("s")
  end
end
