# frozen_string_literal: true

require_relative "conflicts"

module Fairlock
  module Sidekiq
    # Runs where jobs are pushed. A scheduled job passes through here a second time, when it already
    # has its lock.
    class ClientMiddleware
      def call(_worker_class, job, _queue, _redis_pool)
        lock = UniqueLock.of(job)
        return yield if lock.nil? || !lock.taken_when_pushed? || retried_without_lock?(lock)
        return yield if lock.take || Conflicts.resolve(lock, :client)

        nil
      end

      private

      # The job released its lock when it first ran, and must not be dropped when it is retried.
      def retried_without_lock?(lock)
        lock.ends_when_run_begins? && lock.job.key?("retry_count")
      end
    end

    # Runs where jobs are executed.
    class ServerMiddleware
      def call(_worker, job, _queue, &block)
        lock = UniqueLock.of(job)
        return yield if lock.nil?

        lock.release if lock.ends_when_run_begins?
        return lock.run(&block) || Conflicts.resolve(lock, :server) if lock.held_while_running?
        return yield unless lock.ends_when_run_ends?

        run_and_release(lock, &block)
      end

      private

      # If the lease ended while the job was in the queue, another job may have the lock now.
      def run_and_release(lock)
        return unless lock.take || Conflicts.resolve(lock, :server)

        yield
        # After a failure, this is not reached: the job is retried, and releases the lock when it is
        # dead.
        lock.release
      end
    end
  end
end
