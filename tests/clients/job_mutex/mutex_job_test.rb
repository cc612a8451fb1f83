# The job mutex with SET NX and DEL, unmodified, on Redis and on fairlock.

require "stringio"

require_relative "../ruby/each_server"
require_relative "../ruby/raw_client"
require_relative "webhook_jobs"

class ConversationJob < MutexJob
  # Jobs report to the test what they do.
  ENDED = Queue.new

  tries_again(wait_s: 0.2, attempts: 4) { |job, _error| ENDED << [:gave_up, job.arguments.last] }

  discard_on(ArgumentError) { |_job, error| ENDED << error.class }

  def perform(key, name, fails: false)
    with_lock(key, 20) do
      raise ArgumentError, "as the test wants it" if fails

      ENDED << name
    end
  end
end

EachServer.test("MutexJobTest") do
  def setup
    Sidekiq.redis(&:flushall)
    @redis = Redis.new(port: port)
    @locks = LockManager.new(@redis)
    MutexJob.locks = LockManager.new(Redis.new(port: port))
    @key = "conversation:#{SecureRandom.hex(4)}"
    @log = StringIO.new
    ActiveJob::Base.logger = Logger.new(@log)
    ConversationJob::ENDED.clear
  end

  def teardown
    ActiveJob::Base.logger = nil
    @redis.close
  end

  def next_end
    eventually("a job ends") do
      SidekiqThreads.enqueue_due
      !ConversationJob::ENDED.empty?
    end
    ConversationJob::ENDED.pop
  end

  def test_a_lock_is_taken_asked_for_and_released
    refute @locks.locked?(@key)
    assert @locks.lock(@key)
    assert @locks.locked?(@key)
    refute @locks.lock(@key)
    assert @locks.unlock(@key)
    assert @locks.unlock(@key), "also when nobody has it"
    assert @locks.lock(@key, 5)
    assert_includes 4..5, @redis.ttl(@key)
  end

  def test_a_lock_ends_by_itself
    assert @locks.lock(@key)
    eventually("a second is over") { !@locks.locked?(@key) }
    assert @locks.lock(@key)
  end

  def test_a_denied_job_is_tried_again_until_it_has_the_lock
    assert @locks.lock(@key, 20)
    ConversationJob.perform_later(@key, "late")
    SidekiqThreads.while(threads: 1) do
      denial = "Failed to acquire lock on attempt 1: #{@key}"
      eventually("it was denied") { @log.string.include?(denial) }
      @locks.unlock(@key)
      assert_equal "late", next_end
    end
    assert_match(/Acquired lock for: #{@key} on attempt [234]/, @log.string)
    refute @locks.locked?(@key)
  end

  def test_a_job_gives_up_in_the_end
    assert @locks.lock(@key, 60)
    ConversationJob.perform_later(@key, "never")
    SidekiqThreads.while(threads: 1) { assert_equal [:gave_up, "never"], next_end }
    assert @locks.locked?(@key)
    assert_equal 4, @log.string.scan("Failed to acquire lock").size
  end

  def test_a_failing_job_releases_its_lock
    ConversationJob.perform_later(@key, "fails", fails: true)
    SidekiqThreads.while(threads: 1) do
      assert_equal ArgumentError, next_end
      eventually("it is free") { !@locks.locked?(@key) }
    end
  end

  def test_jobs_of_one_conversation_run_alone_or_give_up
    5.times { |n| ConversationJob.perform_later(@key, n) }
    SidekiqThreads.while(threads: 5) do
      ended = Array.new(5) { next_end }
      assert_equal (0...5).to_a, ended.flatten.grep(Integer).sort
    end
    refute @locks.locked?(@key)
  end
end

# While a fleet migrates one job class at a time, both kinds of locks are on one server.
class MovingFleetTest < Minitest::Test
  include Eventually

  def setup
    @redis = Redis.new(port: ENV.fetch("FAIRLOCK_PORT"))
    @old = LockManager.new(@redis)
    @fairlock = RawClient.new(port: ENV.fetch("FAIRLOCK_PORT"))
    @key = "conversation:#{SecureRandom.hex(4)}"
  end

  def teardown
    @redis.close
    @fairlock.close
  end

  def test_a_new_job_waits_for_an_old_one_and_is_not_passed
    assert @old.lock(@key, 60)
    waiter = Thread.new { @fairlock.lock(@key, "new", wait: 20_000) }
    eventually("it is in line") { @fairlock.info(@key)["waiters"] == 1 }
    @old.unlock(@key)
    refute @old.lock(@key, 60), "it was handed over"
    assert waiter.value
  end

  def test_the_late_release_of_an_old_job_does_not_end_the_hold_of_a_new_one
    assert @old.lock(@key, 1)
    token = @fairlock.lock(@key, "new", wait: 20_000)
    assert token, "the old one's second was over"
    @old.unlock(@key)
    assert_equal 1, @fairlock.call("CHECK", @key, token)
    events = @fairlock.call("HISTORY", @key).each_slice(2).to_h["events"]
    assert_includes events.map { |event| event.each_slice(2).to_h["event"] }, "refused"
  end
end
