# The same promise by fairlock, with what the cache can not do: waiting, a limit above one, a least
# time between two, and an outage that does not look like a denial.

require "securerandom"

require_relative "../ruby/fairlock"

class FairSemaphore
  NAMESPACE = "semaphore_lock".freeze

  def initialize(fairlock) = @fairlock = fairlock

  # Yields :locked or :skipped. `wait_ms`: how long to stand in line before skipping; `limit`: how
  # many at once; `period_ms`: no more than so many begin within that time, however fast they are.
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

  # For who is too late: true when the one that was first is done and its record can be read.
  def wait_for_winner(key, ms) = @fairlock.wait("#{NAMESPACE}:#{key}", ms)
end
