# Base classes for jobs with a mutex on fairlock; the jobs run in the order in which they were
# enqueued.

require "active_job"

require_relative "../ruby/fairlock"

# A job takes its place in the queue when it is enqueued, so it does not matter which worker
# requests the lock first. Subclasses define lock_key.
class FairJob < ActiveJob::Base
  LEASE_MS = 30_000
  # How long an enqueued job retains its place; at most the server's max_keep.
  KEEP_MS = 60_000

  class << self
    # The Fairlock client of this process.
    attr_accessor :fairlock
  end

  # A retried job already has its place.
  before_enqueue { take_place if executions.zero? }

  def take_place
    FairJob.fairlock.lock(lock_key, job_id, px: LEASE_MS, keep: KEEP_MS)
  end
end

# For workers that may block while they wait.
class WaitingJob < FairJob
  class LockTimeout < StandardError; end

  # How long the jobs ahead of this one may take.
  WAIT_MS = 60_000

  # Yields the token, which guards the job's writes against outdated holders; returns the result of
  # the block.
  def with_lock
    FairJob.fairlock.with_lock(lock_key, job_id, px: LEASE_MS, wait: WAIT_MS) do |token|
      return yield(token)
    end
    raise LockTimeout, lock_key
  end
end

# For workers that must not block: a denied job keeps its place and is retried when its turn is
# expected, as many times as necessary.
class ReturningJob < FairJob
  class LockDenied < StandardError
    attr_reader :wait_s

    def initialize(key, wait_s)
      @wait_s = wait_s
      super(key)
    end
  end

  # The delay if there is no estimate, and also the minimum delay.
  RETURN_S = 0.5

  rescue_from(LockDenied) { |denied| retry_job(wait: denied.wait_s) }

  def with_lock
    reply = FairJob.fairlock.explain_lock(lock_key, job_id, px: LEASE_MS, keep: KEEP_MS)
    come_back(reply) if reply["token"].nil?
    logger&.info("Acquired lock for: #{lock_key} on attempt #{executions}")
    begin
      yield reply["token"]
    ensure
      FairJob.fairlock.unlock(lock_key, job_id)
    end
  end

  private

  def come_back(reply)
    holder = reply["holders"].first&.fetch("owner")
    logger&.warn("Lock #{lock_key} is held by #{holder}: position #{reply['position']}, " \
                 "about #{reply['eta_ms'].inspect} ms, attempt #{executions}")
    raise LockDenied.new(lock_key, [reply["eta_ms"].to_i / 1000.0, RETURN_S].max)
  end
end
