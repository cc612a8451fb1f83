# Base classes of jobs with a mutex on fairlock, whose order is the one in which they were enqueued.

require "active_job"

require_relative "../ruby/fairlock"

# A job takes its place in line where it is enqueued, so it does not matter which worker comes
# first to the lock. Subclasses say by lock_key what they lock.
class FairJob < ActiveJob::Base
  LEASE_MS = 30_000
  # How long a job in the queue keeps its place; at most the server's max_keep.
  KEEP_MS = 60_000

  class << self
    # The Fairlock of this process.
    attr_accessor :fairlock
  end

  # On the way back from a retry it has its place already.
  before_enqueue { take_place if executions.zero? }

  def take_place
    FairJob.fairlock.lock(lock_key, job_id, px: LEASE_MS, keep: KEEP_MS)
  end
end

# For workers that may block.
class WaitingJob < FairJob
  class LockTimeout < StandardError; end

  # Jobs in front of it may take that long.
  WAIT_MS = 60_000

  # What the block makes of the token, with which it can protect what it writes.
  def with_lock
    FairJob.fairlock.with_lock(lock_key, job_id, px: LEASE_MS, wait: WAIT_MS) do |token|
      return yield(token)
    end
    raise LockTimeout, lock_key
  end
end

# For workers that must not block: denied, it comes back when its turn can be expected, as often as
# it takes. Its place is kept meanwhile.
class ReturningJob < FairJob
  class LockDenied < StandardError
    attr_reader :wait_s

    def initialize(key, wait_s)
      @wait_s = wait_s
      super(key)
    end
  end

  # Without an estimate, and at least.
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
