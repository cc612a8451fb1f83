# frozen_string_literal: true

require_relative "clock"
require_relative "errors"

module Fairlock
  # What this process knows about a hold. Threads may call it without a lock: each variable is
  # written as a whole, and a hold that has ended never begins again.
  class HoldState
    # A lease is renewed when a third of it is left.
    RENEW_PART = 2 / 3.0
    private_constant :RENEW_PART

    attr_reader :terms, :owner, :token

    def initialize(terms, owner, grant)
      @terms = terms
      @owner = owner
      @token = grant.token
      # When the request was sent from which the lease counts, and its length: one variable, because
      # threads must see both or neither.
      @span = [grant.sent_at, terms.lease].freeze
      @process = Process.pid
    end

    # The lease ends no earlier than this, because it counts from a time after `sent_at`.
    def deadline = @span.sum
    def lease = @span.last

    def renew_at
      sent_at, lease = @span
      sent_at + (lease * RENEW_PART)
    end

    # False in a child that was forked while the parent held the lock.
    def of_this_process? = Process.pid == @process

    # The owner releases the hold, or has transferred it.
    def over? = @is_over
    # There is nothing left to release.
    def released? = @is_released

    def renewed(lease, sent_at) = @span = [sent_at, lease].freeze

    # Takes note of a renewal whose outcome is not known: the server may have shortened the lease.
    def shorten(lease, begun_at)
      renewed(lease, begun_at) if begun_at + lease < deadline
    end

    def end_by_owner = @is_over = true
    def released = @is_over = @is_released = true

    # Why the hold is lost, or nil. Reads the clock.
    def lost
      return @lost if @lost || over? || Fairlock.now < deadline

      @lost = "its lease of #{format('%g', lease)} s ended before it was renewed"
    end

    # Records the end of the hold, unless its owner ends it.
    def lose(reason)
      @lost = reason unless @lost || over? || @is_leaving
    end

    # While a transfer is under way, the server's message about it is no loss.
    def leaving
      @is_leaving = true
      yield
    ensure
      @is_leaving = false
    end

    # Takes note of a message on the channel.
    def hear(message)
      return unless message.event == "lost" && message.token == token

      lose("the server reported: #{message.reason}")
    end

    # Raises LostHold unless the lock is certainly held.
    def check
      raise LostHold, "#{terms.names} is held by the parent of this process" unless of_this_process?
      raise LostHold, "#{terms.names} was released" if over?

      reason = lost
      raise LostHold, "#{terms.names} is lost: #{reason}" if reason
    end
  end
  private_constant :HoldState
end
