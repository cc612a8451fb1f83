# The same mutex built on fairlock, where waiting is one command on one connection.

require "securerandom"

require_relative "../ruby/fairlock"

class FairMutex
  class Timeout < StandardError; end

  def initialize(fairlock, scope:, max_s: 30)
    @fairlock = fairlock
    @scope = scope
    @max_s = max_s
  end

  def key_of(local_scope) = "#{@scope}.#{local_scope}"

  # Raises Timeout if the lock is not granted within that time.
  def synchronise(local_scope, wait_ms: 60_000)
    owner = SecureRandom.uuid
    @fairlock.with_lock(key_of(local_scope), owner, px: @max_s * 1000, wait: wait_ms) do
      return yield
    end
    raise Timeout, "#{key_of(local_scope)} was not to be had within #{wait_ms} ms"
  end
end
