# Unique jobs in every version of Sidekiq: jobs are pushed by its client, and run by its middleware,
# without its threads. with_own_server.py --redis starts the servers.

require "minitest/autorun"
require "rack"
require "rack/mock"

require_relative "../ruby/gem"

require "fairlock/sidekiq/web"

PORT = Integer(ENV.fetch("FAIRLOCK_PORT"))
REDIS_URL = "redis://127.0.0.1:#{ENV.fetch('REDIS_PORT')}/0".freeze
NEWER = Sidekiq.respond_to?(:default_configuration)
CONFIGURATION = NEWER ? Sidekiq.default_configuration : Sidekiq
CONFIGURATION.redis = { url: REDIS_URL }
Redis.silence_deprecations = true if Redis.respond_to?(:silence_deprecations=)
CONFIGURATION.logger.level = Logger::FATAL
puts "Sidekiq #{Sidekiq::VERSION}, redis gem #{Redis::VERSION}, Ruby #{RUBY_VERSION}"

class MiddlewareTest < Minitest::Test
  class Job
    include Sidekiq::Job

    def perform(*) = nil
  end

  class UntilExecuted < Job
    sidekiq_options unique: :until_executed
  end

  class WhileExecuting < Job
    sidekiq_options unique: :while_executing, on_conflict: { server: :raise }
  end

  class Runs < Job
    sidekiq_options unique: :until_executed, unique_on_outage: :run
  end

  class WrongTime < Job
    sidekiq_options unique: :until_executed, unique_ttl: "600"
  end

  def setup
    @lock_server = Redis.new(port: PORT)
    Fairlock::Sidekiq.install(@lock_server)
    Fairlock::Sidekiq.store.delete("*")
    CONFIGURATION.redis { |redis| redis.call("FLUSHALL") }
  end

  # What Sidekiq would run.
  def queued
    CONFIGURATION.redis { |redis| redis.call("LRANGE", "queue:default", 0, -1) }
                 .map { |text| JSON.parse(text) }
  end

  def run_job(job, &block)
    block ||= -> {}
    CONFIGURATION.server_middleware.invoke(Object.new, job, "default", &block)
  end

  def held(job_class)
    Fairlock::Sidekiq.store.list("unique:#{job_class}:*").map(&:holders).sum
  end

  # The store of a server that is down.
  def without_lock_server(**options)
    Fairlock::Sidekiq.install(Redis.new(port: 1, reconnect_attempts: 0), **options)
    yield
  end

  def test_a_job_is_pushed_once_and_released_when_it_has_run
    2.times { UntilExecuted.perform_async(1) }
    assert_equal [1, 1], [queued.size, held(UntilExecuted)]
    run_job(queued.first)
    assert_equal 0, held(UntilExecuted)
    refute_nil UntilExecuted.perform_async(1)
  end

  def test_jobs_that_are_pushed_together
    Sidekiq::Client.push_bulk("class" => UntilExecuted, "args" => [[1], [1], [2]])
    assert_equal [[1], [2]], queued.map { |job| job["args"] }.sort
  end

  def test_a_dead_job_releases_its_lock
    UntilExecuted.perform_async(1)
    CONFIGURATION.death_handlers.each { |handler| handler.call(queued.first, StandardError.new) }
    assert_equal 0, held(UntilExecuted)
  end

  def test_the_lock_of_a_job_for_later_counts_from_then
    UntilExecuted.perform_in(7200, 1)
    (entry,) = Fairlock::Sidekiq.store.list("*")
    ttl = Fairlock::Sidekiq.store.find(entry.digest).holders.first.ttl
    assert_in_delta 7200 + 3600, ttl, 60
  end

  def test_a_lost_connection_neither_ends_a_run_nor_repeats_it
    WhileExecuting.perform_async(1)
    runs = 0
    run_job(queued.first) do
      runs += 1
      @lock_server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
      assert_raises(Fairlock::Sidekiq::Conflict) do
        run_job(queued.first.merge("jid" => "another")) { runs += 1 }
      end
    end
    assert_equal [1, 0], [runs, held(WhileExecuting)]
  end

  def test_finished_work_is_not_repeated_because_its_lock_was_lost
    WhileExecuting.perform_async(1)
    run_job(queued.first) { Fairlock::Sidekiq.store.delete("*") }
    error = assert_raises(RuntimeError) { run_job(queued.first) { raise "its own" } }
    assert_equal "its own", error.message
    assert_equal 0, held(WhileExecuting)
  end

  def test_the_page_of_the_locks
    UntilExecuted.perform_async(1)
    assert_equal "locks", Sidekiq::Web.tabs["Locks"]
    options = { "rack.session" => { csrf: "c" * 32 }, "HTTP_SEC_FETCH_SITE" => "same-origin" }
    web = Rack::MockRequest.new(Sidekiq::Web)
    page = web.get("/locks?pattern=unique:*", options)
    assert_equal 200, page.status, page.body
    digest = page.body[/unique:MiddlewareTest::UntilExecuted:\h{32}/]
    assert_equal 200, web.get("/lock?digest=#{digest}", options).status
    assert_equal 1, held(UntilExecuted)
  end

  def test_a_time_that_is_none_is_refused
    error = assert_raises(ArgumentError) { WrongTime.perform_async(1) }
    assert_match(/unique_ttl must be a number of seconds, .*got "600"/, error.message)
  end

  def test_an_outage_of_the_lock_server
    without_lock_server do
      assert_raises(Redis::BaseConnectionError) { UntilExecuted.perform_async(1) }
      refute_nil Runs.perform_async(1)
    end
    assert_equal [[1]], queued.map { |job| job["args"] }
    without_lock_server(on_outage: :run) do
      refute_nil UntilExecuted.perform_async(2)
      WhileExecuting.perform_async(3)
      runs = 0
      queued.each { |job| run_job(job) { runs += 1 } }
      assert_equal 3, runs
    end
    assert_raises(ArgumentError) { Fairlock::Sidekiq.install(@lock_server, on_outage: :wait) }
  end
end
