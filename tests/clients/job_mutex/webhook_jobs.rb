# Webhooks that must run one at a time per conversation: the same job with each kind of mutex.

require_relative "../ruby/gem"
require_relative "../ruby/sidekiq_threads"
require_relative "mutex_job"

require "fairlock/active_job"

ActiveJob::Base.queue_adapter = :sidekiq
ActiveJob::Base.logger = nil

# Logs each execution in a list on the queue's Redis: which job ran, and when it started and ended.
module WebhookLog
  def handle(conversation, number, work_ms)
    begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    sleep work_ms / 1000.0
    ended = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    note("done", conversation, number, begun, ended)
  end

  def note(*what) = Sidekiq.redis { |redis| redis.rpush("log", what.to_json) }
end

class MutexWebhookJob < MutexJob
  include WebhookLog

  def perform(conversation, number, work_ms)
    with_lock("conversation:#{conversation}", 10) { handle(conversation, number, work_ms) }
  end
end

# For workers that may block while they wait.
class WaitingWebhookJob < ActiveJob::Base
  include Fairlock::ActiveJob
  include WebhookLog

  fairlock key: ->(job) { "conversation:#{job.arguments.first}" }, wait: 60

  def perform(conversation, number, work_ms) = handle(conversation, number, work_ms)
end

# For workers that must not block.
class ReturningWebhookJob < ActiveJob::Base
  include Fairlock::ActiveJob
  include WebhookLog

  fairlock key: ->(job) { "conversation:#{job.arguments.first}" }

  def perform(conversation, number, work_ms) = handle(conversation, number, work_ms)
end
