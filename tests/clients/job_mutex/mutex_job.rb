# A base class for jobs with a mutex on Redis: a denied job is retried later by the job framework.

require "active_job"

require_relative "lock_manager"

class MutexJob < ActiveJob::Base
  class LockDenied < StandardError; end

  class << self
    # The LockManager of this process.
    attr_accessor :locks

    # How many times a job requests its lock, and how long it waits after a denial.
    def tries_again(wait_s:, attempts:, &gives_up)
      # Given a plain number, retry_on would accept only whole seconds.
      retry_on LockDenied, wait: ->(_executions) { wait_s }, attempts: attempts, &gives_up
    end
  end

  def with_lock(key, timeout_s = LockManager::TIMEOUT_S)
    locks = MutexJob.locks
    unless locks.lock(key, timeout_s)
      logger&.warn("Failed to acquire lock on attempt #{executions}: #{key}")
      raise LockDenied, key
    end
    logger&.info("Acquired lock for: #{key} on attempt #{executions}")
    begin
      yield
    ensure
      locks.unlock(key)
    end
  end
end
