# Runs jobs with a mutex on fairlock through ActiveJob and Sidekiq: shows that it has none of the
# limitations of the SET NX mutex.

require "minitest/autorun"
require "securerandom"
require "stringio"

require_relative "../ruby/command_counts"
require_relative "../ruby/eventually"
require_relative "../ruby/raw_client"
require_relative "webhook_jobs"

FAIRLOCK = RawClient.new(port: ENV.fetch("FAIRLOCK_PORT"))
Fairlock::ActiveJob.redis = Redis.new(port: ENV.fetch("FAIRLOCK_PORT"))
MutexJob.locks = LockManager.new(Redis.new(port: ENV.fetch("REDIS_PORT")))

# Jobs report to the test what they do, and continue when it lets them.
module Run
  BEGUN = Queue.new
  GO_ON = Queue.new

  def self.reset = [BEGUN, GO_ON].each(&:clear)
end

module Working
  def perform(_conversation, number, fails: false)
    Run::BEGUN << [number, fairlock_hold.token]
    Run::GO_ON.pop
    raise ArgumentError, "as the test wants it" if fails
  end
end

# For workers that may block while they wait.
class Waiting < ActiveJob::Base
  include Fairlock::ActiveJob
  include Working

  fairlock key: ->(job) { "conversation:#{job.arguments.first}" }, wait: 60

  discard_on(ArgumentError) { |_job, error| Run::BEGUN << error.class }
end

# For workers that must not block.
class Returning < ActiveJob::Base
  include Fairlock::ActiveJob
  include Working

  fairlock key: ->(job) { "conversation:#{job.arguments.first}" }
end

# For jobs that must be done, also without the lock server.
class Regardless < ActiveJob::Base
  include Fairlock::ActiveJob

  fairlock key: ->(job) { "conversation:#{job.arguments.first}" }, on_outage: :run

  def perform(conversation, number)
    Run::BEGUN << [number, fairlock_hold&.token]
    FAIRLOCK.call("BREAK", "conversation:#{conversation}") if number == :break
  end
end

# The same, as its process has chosen.
class Chosen < Regardless
  fairlock key: ->(job) { "conversation:#{job.arguments.first}" }
end

class BrokenAdapter
  def enqueue(_job) = raise(IOError, "as the test wants it")
  def enqueue_at(_job, _time) = enqueue(nil)
end

class FairJobTest < Minitest::Test
  include Eventually

  def setup
    Sidekiq.redis(&:flushall)
    # Each test uses a new conversation, so that no test sees another's waiters.
    @conversation = SecureRandom.hex(4)
    @key = "conversation:#{@conversation}"
    Run.reset
  end

  def waiters = FAIRLOCK.info(@key)["waiters"]
  def line = FAIRLOCK.call("QUEUE", @key).map { |place| place.each_slice(2).to_h }

  # Returns the number and the token of the next job that starts.
  def next_begun
    eventually("a job begins") do
      SidekiqThreads.enqueue_due
      !Run::BEGUN.empty?
    end
    Run::BEGUN.pop
  end

  def run_in_turn(job, count)
    @conversation = SecureRandom.hex(4)
    count.times { |number| job.perform_later(@conversation, number) }
    SidekiqThreads.while(threads: 4) do
      Array.new(count) do
        next_begun.tap do
          assert Run::BEGUN.empty?, "two at once"
          Run::GO_ON << :now
        end
      end
    end
  end

  def test_jobs_run_in_the_order_in_which_they_were_enqueued
    [Waiting, Returning].each do |job|
      begun = run_in_turn(job, 6)
      assert_equal (0...6).to_a, begun.map(&:first), job.name
      assert_equal begun.map(&:last).sort, begun.map(&:last), "tokens rise"
    end
  end

  def test_a_job_that_comes_back_keeps_its_turn_whoever_comes_meanwhile
    assert FAIRLOCK.lock(@key, "somebody")
    Returning.perform_later(@conversation, 0)
    SidekiqThreads.while(threads: 1) do
      eventually("it was denied, and comes back later") { Sidekiq::ScheduledSet.new.size == 1 }
      FAIRLOCK.unlock(@key, "somebody")
      refute FAIRLOCK.lock(@key, "a newcomer"), "the room is kept for the job"
      assert_equal 0, next_begun.first
      Run::GO_ON << :now
    end
  end

  def test_a_denial_costs_one_request
    assert FAIRLOCK.lock(@key, "somebody")
    job = Returning.perform_later(@conversation, 0)
    counts = CommandCounts.during(ENV.fetch("FAIRLOCK_PORT")) { job.perform_now }
    assert_equal({ "lock" => 1 }, counts)
    assert_equal 1, Sidekiq::ScheduledSet.new.size
  end

  # On Redis, a later job that happens to request the lock at the right moment gets it.
  def test_there_a_newcomer_gets_what_a_retrying_job_waits_for
    locks = MutexJob.locks
    assert locks.lock("there")
    refute locks.lock("there"), "the job that will come back in a second"
    locks.unlock("there")
    assert locks.lock("there"), "the newcomer"
  end

  def test_the_log_says_who_has_it_and_how_long_it_may_take
    assert FAIRLOCK.lock(@key, "somebody")
    log = StringIO.new
    ActiveJob::Base.logger = Logger.new(log)
    Returning.perform_later(@conversation, 0)
    SidekiqThreads.while(threads: 1) do
      said = "Lock #{@key} is not free: queued, held, held by somebody, position 1"
      eventually("it was denied") { log.string.include?(said) }
      FAIRLOCK.unlock(@key, "somebody")
      next_begun
      Run::GO_ON << :now
    end
    assert_includes log.string, "Acquired lock for: #{@key} on attempt"
  ensure
    ActiveJob::Base.logger = nil
  end

  # The job was stopped for longer than its lease, so the next job already has the lock.
  def test_a_late_release_does_not_end_the_hold_of_the_next
    redis = Fairlock::ActiveJob.redis
    slow = Fairlock.lock(redis, @key, owner: "slow", lease: 0.05, renew: false).acquire
    following = Fairlock.lock(redis, @key, owner: "following", wait: 20).acquire
    refute slow.release
    following.check
    assert_equal 1, FAIRLOCK.call("CHECK", @key, following.token)

    locks = MutexJob.locks
    assert locks.lock("there too", 1)
    eventually("the time is over") { locks.lock("there too", 30) }
    locks.unlock("there too")
    refute locks.locked?("there too"), "there the slow one ended the hold of the next"
  end

  # The wait and the lease are set separately: a long wait does not lengthen the lease.
  def test_the_lease_begins_with_the_grant
    assert FAIRLOCK.lock(@key, "first", px: 1500)
    assert Fairlock.lock(Fairlock::ActiveJob.redis, @key, lease: 60, wait: 20).acquire
    left = FAIRLOCK.info(@key)["holders"].first["ttl_ms"]
    assert_operator left, :>, 40_000
  end

  def test_a_failing_job_releases_its_lock
    Waiting.perform_later(@conversation, 0, fails: true)
    Waiting.perform_later(@conversation, 1)
    SidekiqThreads.while(threads: 2) do
      assert_equal 0, next_begun.first
      Run::GO_ON << :now
      following = [Run::BEGUN.pop, Run::BEGUN.pop]
      assert_includes following, ArgumentError
      assert_includes following.grep(Array).map(&:first), 1
      Run::GO_ON << :now
    end
  end

  # Enqueued jobs are visible in the queue, and no other job overtakes them.
  def test_enqueued_jobs_stand_in_line_before_a_worker_has_seen_them
    jobs = Array.new(3) { |number| Waiting.perform_later(@conversation, number) }
    assert_equal 1, FAIRLOCK.call("LOCKED", @key, jobs.first.job_id)
    assert_equal jobs.drop(1).map(&:job_id), line.map { |place| place["owner"] }
    assert_equal 2, waiters
  end

  def test_no_worker_is_occupied_while_a_job_waits
    assert FAIRLOCK.lock(@key, "somebody")
    Returning.perform_later(@conversation, 0)
    SidekiqThreads.while(threads: 1) do
      eventually("it was denied") { Sidekiq::ScheduledSet.new.size == 1 }
      Returning.perform_later("another one", 1)
      assert_equal 1, next_begun.first
      Run::GO_ON << :now
      FAIRLOCK.unlock(@key, "somebody")
      assert_equal 0, next_begun.first
      Run::GO_ON << :now
    end
  end

  def test_a_job_that_cannot_be_enqueued_leaves_no_place
    queue = Returning.queue_adapter
    Returning.queue_adapter = BrokenAdapter.new
    2.times { assert_raises(IOError) { Returning.perform_later(@conversation, 0) } }
    assert_equal [0, []], [FAIRLOCK.call("LOCKED", @key), line]
  ensure
    Returning.queue_adapter = queue
  end

  def without_lock_server
    redis = Fairlock::ActiveJob.redis
    Fairlock::ActiveJob.redis = Redis.new(port: 1, reconnect_attempts: 0)
    yield
  ensure
    Fairlock::ActiveJob.redis = redis
  end

  def logged
    log = StringIO.new
    ActiveJob::Base.logger = Logger.new(log)
    yield
    log.string
  ensure
    ActiveJob::Base.logger = nil
  end

  def test_an_outage_raises_unless_a_job_may_run_without_its_lock
    without_lock_server do
      [Returning, Chosen].each do |job|
        assert_raises(Redis::BaseConnectionError) { job.perform_later(@conversation, 0) }
        assert_raises(Redis::BaseConnectionError) { job.new(@conversation, 0).perform_now }
      end
      said = logged do
        Regardless.perform_later(@conversation, 1)
        Regardless.perform_now(@conversation, 2)
      end
      assert_equal 2, said.scan(/Job \S+ does without its lock #{@key}: /).size
    end
    assert_equal [2, nil], Run::BEGUN.pop
    SidekiqThreads.while(threads: 1) { assert_kind_of Integer, next_begun.last }
  end

  def test_a_process_chooses_for_all_its_jobs
    Fairlock::ActiveJob.on_outage = :run
    without_lock_server { Chosen.perform_now(@conversation, 1) }
    assert_equal [1, nil], Run::BEGUN.pop
    assert_raises(ArgumentError) { Fairlock::ActiveJob.on_outage = :wait }
    assert_raises(ArgumentError) { Chosen.fairlock(key: nil, on_outage: :wait) }
  ensure
    Fairlock::ActiveJob.on_outage = :raise
  end

  def test_a_lost_lock_fails_a_job_unless_it_may_run_without
    assert_raises(Fairlock::LostHold) { Chosen.perform_now(@conversation, :break) }
    said = logged { Regardless.perform_now(@conversation, :break) }
    assert_match(/Job \S+ ran, but #{@key} was lost before it was released/, said)
  end

  def test_options_are_checked_where_the_class_is_written
    [{ lease: "30" }, { keep: Float::INFINITY }, { wait: -1 }, { lease: 0 }].each do |options|
      assert_raises(ArgumentError) { Chosen.fairlock(key: nil, **options) }
    end
  end

  def test_a_job_for_later_takes_no_place_yet
    Returning.set(wait: 60).perform_later(@conversation, 0)
    assert_equal [0, []], [FAIRLOCK.call("LOCKED", @key), line]
  end
end
