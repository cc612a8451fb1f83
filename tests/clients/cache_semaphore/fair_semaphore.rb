# The semaphore built on fairlock, with features that the cache lacks: waiting, a limit above one, a
# minimum period, and errors that distinguish an outage from a denial.

require "securerandom"

require_relative "../ruby/fairlock"

class FairSemaphore
  NAMESPACE = "semaphore_lock".freeze

  def initialize(fairlock) = @fairlock = fairlock

  # Yields :locked or :skipped. `wait_ms`: how long to wait in the queue before skipping; `limit`:
  # how many may run at once, and also how many may start within `period_ms`.
  def with_lock(key, ttl_ms: 10_000, wait_ms: nil, limit: nil, period_ms: nil)
    owner = SecureRandom.uuid
    ran = false
    result = @fairlock.with_lock("#{NAMESPACE}:#{key}", owner, px: ttl_ms, wait: wait_ms,
                                                               limit: limit, minhold: period_ms) do
      ran = true
      yield :locked
    end
    ran ? result : yield(:skipped)
  end

  # For a caller that was skipped: returns true once the winner is done and its record can be read.
  def wait_for_winner(key, ms) = @fairlock.wait("#{NAMESPACE}:#{key}", ms)
end
