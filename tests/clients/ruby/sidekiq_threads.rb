# Runs Sidekiq's own workers as threads of this process, with the queue on REDIS_PORT.

require "redis"
require "sidekiq"
# Sidekiq treats a process that has loaded this file as a worker.
require "sidekiq/api"
require "sidekiq/cli"

module SidekiqThreads
  # The interval at which each worker process looks for due jobs, in seconds.
  SCHEDULE_S = 0.2
  # Until its version 7, Sidekiq had no object for its configuration, and used the gem redis.
  IS_CONFIGURED_AT_ONCE = Gem::Version.new(Sidekiq::VERSION) < Gem::Version.new("7")
  # Workers check at this interval, in seconds, whether they should stop. Sidekiq's two seconds
  # would slow the tests down.
  FETCH_S = 0.2

  class QuickFetch < Sidekiq::BasicFetch
    def queues_cmd = IS_CONFIGURED_AT_ONCE ? [*super[0..-2], { timeout: FETCH_S }] : super
  end

  # Connects this process, which may be a fork, to the queue.
  def self.connect(size:)
    options = { url: "redis://127.0.0.1:#{ENV.fetch('REDIS_PORT')}/0", size: size }
    return Sidekiq.redis = options if IS_CONFIGURED_AT_ONCE

    Sidekiq.default_configuration.redis = options
  end

  # Runs jobs during the block; then lets the jobs that have started finish.
  def self.while(threads:)
    launcher = start(threads: threads)
    yield
  ensure
    launcher&.stop
  end

  def self.start(threads:, schedule_s: SCHEDULE_S)
    Sidekiq::Launcher.new(configured(threads, schedule_s)).tap(&:run)
  end

  def self.configured(threads, schedule_s)
    if IS_CONFIGURED_AT_ONCE
      Sidekiq.options.merge!(poll_interval_average: schedule_s, concurrency: threads)
      options = Sidekiq.options.merge(queues: ["default"], timeout: 20)
      return options.merge(fetch: QuickFetch.new(options))
    end

    config = Sidekiq.default_configuration
    config.concurrency = threads
    # The first launcher freezes the options.
    @configured ||= config.merge!(fetch_class: QuickFetch, poll_interval_average: schedule_s,
                                  timeout: 20)
    config
  end

  # Whether no job is running.
  def self.idle?
    (IS_CONFIGURED_AT_ONCE ? Sidekiq::Processor::WORKER_STATE : Sidekiq::Processor::WORK_STATE)
      .size.zero?
  end

  # Moves due jobs to their queue at once. A worker that has just started would take up to five
  # seconds to do so.
  def self.enqueue_due
    arguments = IS_CONFIGURED_AT_ONCE ? [] : [Sidekiq.default_configuration]
    Sidekiq::Scheduled::Enq.new(*arguments).enqueue_jobs
  end
end

Sidekiq.logger.level = Logger::FATAL
if SidekiqThreads::IS_CONFIGURED_AT_ONCE
  # Silences the warnings that Sidekiq's own use of the gem causes.
  Redis.silence_deprecations = true
else
  Sidekiq::BasicFetch.send(:remove_const, :TIMEOUT)
  Sidekiq::BasicFetch.const_set(:TIMEOUT, SidekiqThreads::FETCH_S)
end
SidekiqThreads.connect(size: 40)
