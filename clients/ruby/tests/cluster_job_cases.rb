# frozen_string_literal: true

# The parts for Sidekiq and ActiveJob over the cluster client of the gem.

require "sidekiq"

require_relative "cluster_support"
require "fairlock/active_job"
require "fairlock/sidekiq"

Sidekiq.logger.level = Logger::FATAL
# Silences the warnings that Sidekiq's own use of the gem causes.
Redis.silence_deprecations = true
Sidekiq.redis = { url: "redis://127.0.0.1:#{ENV.fetch('REDIS_PORT')}" }
ActiveJob::Base.queue_adapter = :inline
ActiveJob::Base.logger = nil

class UniqueWorker
  include Sidekiq::Worker

  sidekiq_options unique: :until_executed, on_conflict: { client: :replace }
end

class KeyedJob < ActiveJob::Base
  include Fairlock::ActiveJob

  fairlock key: ->(job) { job.arguments.first }, wait: 5

  def perform(_key) = KeyedJob.tokens.push(fairlock_hold.token)

  def self.tokens = @tokens ||= []
end

class ClusterJobTest < FleetCase
  TERMS = { type: "until_executed", limit: 1, meta: { worker: "W" } }.freeze

  def setup
    super
    @store = Fairlock::Sidekiq::Store.new(client)
    @digests = keys.map { |key| "unique:#{key}" }
  end

  def take(digest, jid, **options) = @store.lock(digest, jid, ttl: 60, **TERMS, **options)

  def test_the_store_works_in_every_partition
    @digests.each do |digest|
      assert take(digest, "1")
      refute take(digest, "2")
      refute @store.replace(digest, "3", "2")
      assert @store.replace(digest, "1", "2")
      assert_equal ["2"], @store.find(digest).holders.map(&:jid)
      assert @store.unlock(digest, "2")
      assert_nil @store.find(digest)
    end
  end

  def test_lists_and_counts_have_all_partitions
    before = @store.metrics["total"]["acquired"].to_i
    @digests.each { |digest| take(digest, "1") }
    assert_equal @digests.sort, @store.list("unique:#{name}*").map(&:digest)
    assert_equal before + 2, @store.metrics["total"]["acquired"]
    assert_equal @digests.sort, @store.delete("unique:#{name}*")
    assert_empty @store.list("unique:#{name}*")
  end

  def test_a_hold_ends_with_its_session
    redis = client(id: "session")
    store = Fairlock::Sidekiq::Store.new(redis)
    terms = { type: "while_executing", limit: 1, meta: {} }
    @digests.each do |digest|
      held = store.hold(digest, "1", **terms) do
        refute store.hold(digest, "2", **terms) { flunk }
        assert_equal 1, ask("LOCKED", digest)
      end
      assert held
      assert_equal 0, ask("LOCKED", digest)
      thread = in_thread { store.hold(digest, "3", **terms) { sleep } }
      wait_until { ask("LOCKED", digest) == 1 }
      thread.kill.join
      wait_until { ask("LOCKED", digest).zero? }
    end
  end

  def test_a_hold_that_is_waited_for_through_a_fail_over
    digest = @digests.first
    take(digest, "1")
    thread = in_thread do
      @store.hold(digest, "2", **TERMS, wait: 60) { ask("LOCKED", digest, "2") }
    end
    wait_until { waiters(digest) == ["2"] }
    order("kill #{digest}")
    wait_until { waiters(digest) == ["2"] }
    assert @store.unlock(digest, "1")
    assert result_of(thread)
    assert_nothing_left digest
  end

  def test_unique_jobs
    Fairlock::Sidekiq.install(client)
    Sidekiq.redis(&:flushall)
    2.times { Array.new(4) { |number| UniqueWorker.perform_async(number) } }
    assert_equal 4, Sidekiq::Queue.new("default").size
    assert_equal 4, Fairlock::Sidekiq.store.list("unique:UniqueWorker:*").size
  end

  def test_a_plain_client_is_told_what_it_needs
    moved = plain_clients.product(@digests).count do |redis, digest|
      Fairlock::Sidekiq::Store.new(redis).find(digest)
      false
    rescue Fairlock::NeedsCluster
      true
    end
    assert_equal 6, moved
  end

  def test_active_job
    Fairlock::ActiveJob.redis = client
    keys.each { |key| KeyedJob.perform_later(key) }
    assert_equal 2, KeyedJob.tokens.size
    assert_nothing_left(*keys)
  end
end
