# frozen_string_literal: true

require "active_job"

require_relative "../fairlock"

module Fairlock
  # Jobs of one key run one at a time, in the order in which they were enqueued:
  #
  #   class WebhookJob < ActiveJob::Base
  #     include Fairlock::ActiveJob
  #
  #     fairlock key: ->(job) { "conversation:#{job.arguments.first}" }
  #   end
  #
  # A job takes its place in the lock's queue when it is enqueued, under its job ID. If the lock is
  # held by others when a worker runs the job, the job is enqueued again for the time at which its
  # turn is expected, and its place is kept. So no worker is occupied.
  module ActiveJob
    extend ActiveSupport::Concern

    # Times are in seconds. `keep`: how long the place of a job that no worker runs is kept; the
    # server's max_keep limits it. `wait`: how long a worker waits for the lock.
    Options = Struct.new(:key, :lease, :keep, :wait, :lock, keyword_init: true)
    private_constant :Options

    # The least time after which a denied job returns.
    RETURN_SECONDS = 0.5
    private_constant :RETURN_SECONDS

    class << self
      # The client of this process: a Redis or a ConnectionPool, connected to the lock server.
      attr_accessor :redis
    end

    included do
      class_attribute :fairlock_options, instance_accessor: false
      around_enqueue { |job, enqueue| job.send(:enqueue_in_queue, &enqueue) }
      around_perform { |job, perform| job.send(:perform_in_turn, &perform) }
    end

    class_methods do
      # `key` is called with the job. Further options are those of Fairlock.lock, such as `label`.
      def fairlock(key:, lease: 30, keep: 60, wait: 0, **lock)
        self.fairlock_options = Options.new(key: key, lease: lease, keep: keep, wait: wait,
                                            lock: lock)
      end
    end

    # The Hold of a job that runs. Its token guards the job's writes against earlier holders.
    attr_reader :fairlock_hold

    private

    def fairlock_lock(**terms)
      options = self.class.fairlock_options
      Fairlock.lock(Fairlock::ActiveJob.redis, options.key.call(self), owner: job_id,
                                                                       keep: options.keep,
                                                                       **options.lock, **terms)
    end

    # A job for later takes its place when it runs, and one that is tried again has its place.
    def enqueue_in_queue
      return yield if self.class.fairlock_options.nil? || executions.positive? || scheduled_at

      place = take_place
      begin
        yield
      rescue StandardError
        place.give_up
        raise
      end
    end

    # The first job holds the lock until a worker runs it, for as long as others keep their places.
    def take_place
      lock = fairlock_lock(lease: self.class.fairlock_options.keep, wait: 0, renew: false)
      lock.try_acquire&.detach
      lock
    end

    def perform_in_turn(&perform)
      options = self.class.fairlock_options
      return yield if options.nil?

      begin
        hold = fairlock_lock(lease: options.lease, wait: options.wait).acquire_or_explain
      rescue Denied => error
        return come_back(error.explanation)
      end
      perform_with(hold, &perform)
    end

    def perform_with(hold)
      logger&.info("Acquired lock for: #{hold.keys.first} on attempt #{executions}")
      @fairlock_hold = hold
      is_complete = false
      result = yield
      is_complete = true
      result
    ensure
      hold.end_block(!is_complete)
    end

    def come_back(explanation)
      key = self.class.fairlock_options.key.call(self)
      logger&.warn("Lock #{key} is not free: #{explanation}, attempt #{executions}")
      keep = self.class.fairlock_options.keep
      latest = [keep / 2.0, RETURN_SECONDS].max
      retry_job(wait: (explanation.eta || 0).clamp(RETURN_SECONDS, latest))
    end
  end
end
