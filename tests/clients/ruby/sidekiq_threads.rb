# Sidekiq's own workers as threads of this process, on the queue at REDIS_PORT.

require "sidekiq"
# As Sidekiq sees it, who has loaded this is a worker.
require "sidekiq/cli"

Sidekiq.logger.level = Logger::FATAL
# Of Sidekiq's own use of the gem.
Redis.silence_deprecations = true
Sidekiq.redis = { url: "redis://127.0.0.1:#{ENV.fetch('REDIS_PORT')}/0", size: 40 }

module SidekiqThreads
  # How often each worker process looks for jobs whose time has come.
  SCHEDULE_S = 0.2

  # A worker looks at its end this often. Sidekiq's two seconds would make tests slow.
  class QuickFetch < Sidekiq::BasicFetch
    def queues_cmd = [*super[0..-2], { timeout: 0.2 }]
  end

  # Runs jobs while the block does, and lets those that have begun end.
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

  # No job runs now.
  def self.idle? = Sidekiq::Processor::WORKER_STATE.size.zero?

  # Moves jobs whose time has come to their queue, at once. A started worker does it after up to
  # five seconds for the first time.
  def self.enqueue_due = Sidekiq::Scheduled::Enq.new.enqueue_jobs
end
