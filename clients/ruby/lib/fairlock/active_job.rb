# frozen_string_literal: true

require "active_job"

require_relative "../fairlock"
require_relative "outages"

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
    # server's max_keep limits it. `wait`: how long a worker waits for the lock. `on_outage`:
    # :raise, :run, or nil for the choice of the process.
    Options = Struct.new(:key, :lease, :keep, :wait, :on_outage, :lock, keyword_init: true)
    private_constant :Options

    # The least time after which a denied job returns.
    RETURN_SECONDS = 0.5
    private_constant :RETURN_SECONDS

    class << self
      # The client of this process: a Redis or a ConnectionPool, connected to the lock server.
      attr_accessor :redis
      # What happens to jobs while the lock server cannot be reached, unless their class chooses:
      # :raise (the default) raises the error of the connection, so that nothing is enqueued or
      # run; :run enqueues and runs jobs without their locks, and a lock that is lost while its job
      # runs does not make the job fail.
      attr_reader :on_outage

      def on_outage=(choice)
        @on_outage = Outages.checked(choice)
      end
    end

    included do
      class_attribute :fairlock_options, instance_accessor: false
      around_enqueue { |job, enqueue| job.send(:enqueue_in_queue, &enqueue) }
      around_perform { |job, perform| job.send(:perform_in_turn, &perform) }
    end

    class_methods do
      # `key` is called with the job. Further options are those of Fairlock.lock, such as `label`.
      def fairlock(key:, lease: 30, keep: 60, wait: 0, on_outage: nil, **lock)
        Outages.checked(on_outage) unless on_outage.nil?
        Terms.check_duration("lease", lease, may_be_zero: false)
        Terms.check_duration("keep", keep, may_be_zero: false)
        Terms.check_duration("wait", wait) unless wait.nil?
        self.fairlock_options = Options.new(key: key, lease: lease, keep: keep, wait: wait,
                                            on_outage: on_outage, lock: lock)
      end
    end

    # The Hold of a job that runs. Its token guards the job's writes against earlier holders. It is
    # nil if the job runs without its lock because of an outage.
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

      place = despite_outage { take_place }
      begin
        yield
      rescue StandardError
        place&.give_up
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
        hold = despite_outage do
          fairlock_lock(lease: options.lease, wait: options.wait).acquire_or_explain
        end
      rescue Denied => error
        return come_back(error.explanation)
      end
      @fairlock_hold = hold
      hold ? perform_with(hold, &perform) : yield
    end

    def on_outage = self.class.fairlock_options.on_outage || ActiveJob.on_outage || :raise

    # Returns the value of the block, or nil if the job does without its lock.
    def despite_outage
      yield
    rescue *Failures::ALL => error
      raise unless Outages.survived?(on_outage, error)

      key = self.class.fairlock_options.key.call(self)
      logger&.warn("Job #{job_id} does without its lock #{key}: #{error.message}")
      nil
    end

    def perform_with(hold)
      logger&.info("Acquired lock for: #{hold.keys.first} on attempt #{executions}")
      is_complete = false
      result = yield
      is_complete = true
      result
    ensure
      end_hold(hold, !is_complete)
    end

    # A job that may run without its lock has not failed if it lost it.
    def end_hold(hold, has_failed)
      hold.end_block(has_failed)
    rescue LostHold => error
      raise unless on_outage.to_sym == :run

      logger&.warn("Job #{job_id} ran, but #{error.message}")
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
