# Runs Sidekiq's own workers as threads of this process, with the queue on REDIS_PORT.

require "sidekiq"
# Sidekiq treats a process that has loaded this file as a worker.
require "sidekiq/cli"

Sidekiq.logger.level = Logger::FATAL
# Silences the warnings that Sidekiq's own use of the gem causes.
Redis.silence_deprecations = true
Sidekiq.redis = { url: "redis://127.0.0.1:#{ENV.fetch('REDIS_PORT')}/0", size: 40 }

module SidekiqThreads
  # The interval at which each worker process looks for due jobs, in seconds.
  SCHEDULE_S = 0.2

  # Workers check at this interval, in seconds, whether they should stop. Sidekiq's two seconds
  # would slow the tests down.
  class QuickFetch < Sidekiq::BasicFetch
    def queues_cmd = [*super[0..-2], { timeout: 0.2 }]
  end

  # Runs jobs during the block; then lets the jobs that have started finish.
  def self.while(threads:)
    launcher = start(threads: threads)
    yield
  ensure
    launcher&.stop
  end

  def self.start(threads:, schedule_s: SCHEDULE_S)
    options = Sidekiq.options.merge(concurrency: threads, queues: ["default"], timeout: 20)
    options[:fetch] = QuickFetch.new(options)
    Sidekiq.options[:poll_interval_average] = schedule_s
    Sidekiq.options[:concurrency] = threads
    Sidekiq::Launcher.new(options).tap(&:run)
  end

  # Whether no job is running.
  def self.idle? = Sidekiq::Processor::WORKER_STATE.size.zero?

  # Moves due jobs to their queue at once. A worker that has just started would take up to five
  # seconds to do so.
  def self.enqueue_due = Sidekiq::Scheduled::Enq.new.enqueue_jobs
end
