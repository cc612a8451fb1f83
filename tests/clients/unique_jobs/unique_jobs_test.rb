# Unique jobs run by Sidekiq: lock types, conflicts, limits, and the commands of an operator.

require "minitest/autorun"

require_relative "../ruby/command_counts"
require_relative "../ruby/eventually"
require_relative "../ruby/gem"
require_relative "../ruby/raw_client"
require_relative "../ruby/sidekiq_threads"
require_relative "redis_store"

require "fairlock/sidekiq"

FAIRLOCK = RawClient.new(port: ENV.fetch("FAIRLOCK_PORT"))
UniqueJobs = Fairlock::Sidekiq
UniqueJobs.install(Redis.new(port: ENV.fetch("FAIRLOCK_PORT")))

# Jobs report to the test what they do, and continue when it lets them.
module Run
  BEGUN = Queue.new
  GO_ON = Queue.new

  def self.reset
    [BEGUN, GO_ON].each(&:clear)
  end
end

class Job
  include Sidekiq::Worker

  def perform(*arguments)
    Run::BEGUN << [self.class, arguments]
    Run::GO_ON.pop
  end
end

class UntilExecuting < Job
  sidekiq_options unique: :until_executing
end

class UntilExecuted < Job
  sidekiq_options unique: :until_executed
end

class UntilExpired < Job
  sidekiq_options unique: :until_expired, unique_ttl: 4
end

class WhileExecuting < Job
  sidekiq_options unique: :while_executing, on_conflict: { server: :reschedule }, reschedule_in: 0.1
end

class WhileExecutingInTurn < Job
  sidekiq_options unique: :while_executing, unique_wait: 20
end

class UntilAndWhile < Job
  sidekiq_options unique: :until_and_while_executing, unique_wait: 20
end

class TwoAtATime < Job
  sidekiq_options unique: :until_executed, unique_limit: 2
end

class Raising < Job
  sidekiq_options unique: :until_executed, on_conflict: :raise
end

class Rejecting < Job
  sidekiq_options unique: :until_executed, on_conflict: :reject
end

class Replacing < Job
  sidekiq_options unique: :until_executed, on_conflict: :replace
end

class Rescheduling < Job
  sidekiq_options unique: :until_executed, on_conflict: { client: :reschedule }, reschedule_in: 0.1
end

class Failing < Job
  sidekiq_options unique: :until_executed, retry: 1

  def perform(*arguments)
    Run::BEGUN << [self.class, arguments]
    raise "as the test wants it"
  end
end

class UniqueJobsTest < Minitest::Test
  include Eventually

  def setup
    Sidekiq.redis(&:flushall)
    UniqueJobs.store.delete("*")
    Run.reset
  end

  def queue = Sidekiq::Queue.new("default")
  def holders_of(worker, *arguments) = FAIRLOCK.call("LOCKED", digest_of(worker, *arguments))

  def digest_of(worker, *arguments)
    UniqueJobs.digest_of("class" => worker.name, "queue" => "default", "args" => arguments)
  end

  # Lets Sidekiq run jobs, and returns the next one that starts.
  def next_begun
    eventually("a job begins") do
      SidekiqThreads.enqueue_due
      !Run::BEGUN.empty?
    end
    Run::BEGUN.pop
  end

  def finish(jobs = 1) = jobs.times { Run::GO_ON << :now }

  def wait_until_free(worker, *arguments)
    eventually("#{worker} is free") { holders_of(worker, *arguments).zero? }
  end

  # Lock types.

  def test_until_executing_is_unique_until_it_starts
    assert UntilExecuting.perform_async(1)
    assert_nil UntilExecuting.perform_async(1)
    assert UntilExecuting.perform_async(2), "other arguments are another job"
    assert_equal 2, queue.size
    SidekiqThreads.while(threads: 3) do
      2.times { next_begun }
      assert UntilExecuting.perform_async(1), "it has started, so the next one may be queued"
      next_begun
      finish 3
    end
  end

  def test_until_executed_is_unique_until_it_has_ended
    assert UntilExecuted.perform_async(1)
    SidekiqThreads.while(threads: 2) do
      next_begun
      assert_nil UntilExecuted.perform_async(1), "it runs"
      finish
      wait_until_free(UntilExecuted, 1)
      assert UntilExecuted.perform_async(1)
      finish
    end
  end

  def test_until_expired_is_unique_for_its_time_however_fast_it_is
    assert UntilExpired.perform_async(1)
    SidekiqThreads.while(threads: 1) do
      next_begun
      finish
      eventually("it has ended") { SidekiqThreads.idle? }
      assert_nil UntilExpired.perform_async(1)
      assert UniqueJobs.store.find(digest_of(UntilExpired, 1)).holders.first.ttl <= 4
      wait_until_free(UntilExpired, 1)
      assert UntilExpired.perform_async(1)
      finish
    end
  end

  def test_while_executing_queues_many_and_runs_one
    3.times { assert WhileExecuting.perform_async(1) }
    SidekiqThreads.while(threads: 3) do
      next_begun
      eventually("the others are put off") { Sidekiq::ScheduledSet.new.size == 2 }
      assert Run::BEGUN.empty?
      2.times do
        finish
        next_begun
        assert Run::BEGUN.empty?
      end
      finish
      wait_until_free(WhileExecuting, 1)
    end
  end

  def test_until_and_while_executing_has_one_in_the_queue_and_one_that_runs
    assert UntilAndWhile.perform_async(1)
    assert_nil UntilAndWhile.perform_async(1), "one is in the queue"
    SidekiqThreads.while(threads: 2) do
      next_begun
      assert UntilAndWhile.perform_async(1), "that one has started"
      run_digest = "#{digest_of(UntilAndWhile, 1)}:run"
      eventually("the second one waits") { FAIRLOCK.info(run_digest)["waiters"] == 1 }
      assert Run::BEGUN.empty?
      finish
      next_begun
      finish
    end
  end

  # Conflicts.

  def test_a_conflict_is_raised_where_the_job_is_pushed
    assert Raising.perform_async(1)
    error = assert_raises(UniqueJobs::Conflict) { Raising.perform_async(1) }
    assert_includes error.message, digest_of(Raising, 1)
  end

  def test_a_rejected_job_is_among_the_dead
    assert Rejecting.perform_async(1)
    assert_nil Rejecting.perform_async(1)
    assert_equal ["Rejecting"], Sidekiq::DeadSet.new.map(&:klass)
  end

  def test_a_job_replaces_the_one_that_waits_and_no_third_gets_between
    first = Replacing.perform_async(1)
    second = Replacing.perform_async(1)
    assert_equal [second], queue.map(&:jid)
    assert_equal [second], UniqueJobs.store.find(digest_of(Replacing, 1)).holders.map(&:jid)
    refute_equal first, second
  end

  def test_a_job_does_not_replace_one_that_runs
    Replacing.perform_async(1)
    SidekiqThreads.while(threads: 1) do
      next_begun
      assert_nil Replacing.perform_async(1)
      finish
    end
  end

  def test_a_rescheduled_job_comes_when_the_other_is_done
    assert Rescheduling.perform_async(1)
    assert_nil Rescheduling.perform_async(1)
    assert_equal 1, Sidekiq::ScheduledSet.new.size
    SidekiqThreads.while(threads: 1) do
      next_begun
      finish
      wait_until_free(Rescheduling, 1)
      next_begun
      finish
    end
  end

  # Failures.

  def test_a_job_that_fails_keeps_its_lock_until_it_is_dead
    assert Failing.perform_async(1)
    SidekiqThreads.while(threads: 1) do
      next_begun
      eventually("it will be tried again") { Sidekiq::RetrySet.new.size == 1 }
      assert_nil Failing.perform_async(1)
      # Retries at once, instead of after Sidekiq's delay.
      Sidekiq::RetrySet.new.each(&:add_to_queue)
      eventually("it dies") { Sidekiq::DeadSet.new.size == 1 }
      wait_until_free(Failing, 1)
    end
  end

  def test_a_job_that_is_fetched_twice_keeps_its_lock
    jid = UntilExecuted.perform_async(1)
    lock = UniqueJobs::UniqueLock.of(queue.first.item)
    assert lock.take, "as after its process died and the queue gave it to another"
    assert_equal [jid], UniqueJobs.store.find(lock.digest).holders.map(&:jid)
  end

  # What Redis cannot do and fairlock can.

  def test_waiting_jobs_run_in_the_order_in_which_they_began_to_wait
    digest = digest_of(WhileExecutingInTurn, 1)
    jids = Array.new(6) { WhileExecutingInTurn.perform_async(1) }
    served = []
    SidekiqThreads.while(threads: 6) do
      next_begun
      eventually("five wait") { FAIRLOCK.info(digest)["waiters"] == 5 }
      line = FAIRLOCK.call("QUEUE", digest).map { |place| place.each_slice(2).to_h["owner"] }
      5.times do
        finish
        next_begun
        served << UniqueJobs.store.find(digest).holders.first.jid
      end
      finish
      assert_equal line, served
      assert_empty served - jids
    end
  end

  def test_each_holder_has_a_lease_of_its_own
    limits = { type: "until_executed", limit: 2, meta: {} }
    on_redis = RedisStore.new(port: ENV.fetch("REDIS_PORT"))
    [UniqueJobs.store, on_redis].each do |store|
      assert store.lock("both", "a", ttl: 2, **limits)
      assert store.lock("both", "b", ttl: 60, **limits)
      refute store.lock("both", "c", ttl: 60, **limits)
    end
    eventually("the first one's lease ends") { FAIRLOCK.call("LOCKED", "both", "a").zero? }
    assert UniqueJobs.store.lock("both", "c", ttl: 60, **limits)
    # On Redis, the second job has extended the first one's lease.
    refute on_redis.lock("both", "c", ttl: 60, **limits)
    on_redis.close
  end

  def test_counting_costs_no_command
    store = UniqueJobs.store
    asked = CommandCounts.during(ENV.fetch("FAIRLOCK_PORT")) do
      store.lock("counted", "a", type: "until_executed", limit: 1, ttl: 60, meta: {})
      store.unlock("counted", "a")
    end
    assert_equal({ "lock" => 1, "unlock" => 1 }, asked)
  end

  def test_the_lock_of_a_running_job_ends_after_its_process
    digest = digest_of(WhileExecuting, 1)
    reader, writer = IO.pipe
    process = fork do
      store = UniqueJobs::Store.new(Redis.new(port: ENV.fetch("FAIRLOCK_PORT")))
      store.hold(digest, "lost", type: "while_executing", limit: 1, meta: {}) do
        writer.puts "held"
        sleep
      end
    end
    assert_equal "held\n", reader.gets
    Process.kill(:KILL, process)
    Process.wait(process)
    # No reaper is needed: its lease is not renewed any more.
    assert UniqueJobs.store.hold(digest, "next", type: "while_executing", limit: 1, meta: {},
                                                 wait: 60) { :ran }
  end

  # What an operator can see and do.

  def test_limit_and_metadata
    assert TwoAtATime.perform_async(1)
    assert TwoAtATime.perform_async(1)
    assert_nil TwoAtATime.perform_async(1)
    holders = UniqueJobs.store.find(digest_of(TwoAtATime, 1)).holders
    assert_equal queue.map(&:jid).sort, holders.map(&:jid).sort
    meta = holders.first.meta
    assert_equal ["TwoAtATime", "default", 2], meta.values_at("worker", "queue", "limit")
    assert_equal [1], meta["args"]
    assert_equal ["until_executed", 3600], meta.values_at("type", "ttl")
    assert_in_delta Time.now.to_f, meta["at"], 60
    assert_in_delta Time.now.to_f, holders.first.since, 60
  end

  def test_metrics_by_lock_type
    before = UniqueJobs.store.metrics
    UntilExecuted.perform_async("m")
    2.times { UntilExecuted.perform_async("m") }
    UntilExecuting.perform_async("m")
    after = UniqueJobs.store.metrics
    more = lambda do |type, what|
      after.fetch(type)[what] - before.fetch(type, {}).fetch(what, 0)
    end
    assert_equal [1, 2], [more["until_executed", "acquired"], more["until_executed", "denied"]]
    assert_equal [1, 0], [more["until_executing", "acquired"], more["until_executing", "denied"]]
    assert_equal [2, 2], [more["total", "acquired"], more["total", "denied"]]
  end

  def test_list_and_delete_by_pattern
    3.times { |n| UntilExecuted.perform_async(n) }
    UntilExpired.perform_async(1)
    store = UniqueJobs.store
    assert_equal 4, store.list("unique:*").size
    assert_equal 3, store.list("unique:*", type: "until_executed").size
    assert_equal 3, store.list("unique:UntilExecuted:*").size
    assert_equal 3, store.delete("unique:UntilExecuted:*", dry_run: true).size
    assert_equal 4, store.list("unique:*").size, "a dry run deletes nothing"
    store.delete("unique:UntilExecuted:*")
    assert_equal [digest_of(UntilExpired, 1)], store.list("unique:*").map(&:digest)
    assert UntilExecuted.perform_async(0)
  end
end
