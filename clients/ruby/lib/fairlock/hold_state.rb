# frozen_string_literal: true

require_relative "clock"
require_relative "errors"
require_relative "explanation"

module Fairlock
  # What this process knows about a hold. Threads may call it without a lock: each variable is
  # written as a whole, and a hold that has ended never begins again.
  class HoldState
    # A lease is renewed when this part of it is left.
    RENEW_PART = 1 / 3.0
    private_constant :RENEW_PART

    attr_reader :terms, :owner, :token, :deadline
    # The length of the lease.
    attr_accessor :lease

    def initialize(terms, owner, grant)
      @terms = terms
      @owner = owner
      @token = grant.token
      @lease = terms.lease
      # The lease ends no earlier than this, because it counts from a time after `sent_at`.
      @deadline = grant.sent_at + terms.lease
      @process = Process.pid
    end

    def renew_at = @deadline - (@lease * RENEW_PART)

    # False in a child that was forked while the parent held the lock.
    def of_this_process? = Process.pid == @process

    # The owner releases the hold, or has transferred it.
    def over? = @is_over
    # There is nothing left to release.
    def released? = @is_released

    # A renewal never shortens the lease, in whichever order the server executes renewals and
    # replies to them. Of two threads at this very moment, the earlier time may win, which is safe.
    def renewed(lease, sent_at) = @deadline = [@deadline, sent_at + lease].max

    def end_by_owner = @is_over = true
    def released = @is_over = @is_released = true

    # Why the hold is lost, or nil. Reads the clock.
    def lost
      return @lost if @lost || over? || Fairlock.now < deadline

      @lost = "its lease of #{format('%g', lease)} s ended before it was renewed"
    end

    # Records the end of the hold, unless its owner ended it.
    def lose(reason)
      return if @lost || over?

      @rumour ||= reason
      @lost = reason unless @heir # a transfer that ends at this moment may not have seen the rumour
    end

    # Whether it may be lost, unless that was the transfer that is under way.
    def doubted? = !@rumour.nil?

    # During the block, a transfer is under way, and the hold is not certain. It is lost afterwards,
    # unless the server has confirmed or refused the transfer.
    def transferring_to(heir)
      @heir = heir
      yield
    ensure
      if @heir && !over?
        name = Fairlock.shown(heir)
        @lost ||= @rumour || "the server has not confirmed its transfer to #{name}"
      end
      @heir = nil
    end

    # The server did not execute the transfer, so the hold is what it was.
    def refuse_transfer
      @heir = nil
      lose(@rumour) if @rumour
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

      heir = @heir
      raise LostHold, "#{terms.names} #{transfer_to(heir)}" if heir

      reason = lost
      raise LostHold, "#{terms.names} is lost: #{reason}" if reason
    end

    private

    def transfer_to(heir) = "is being transferred to #{Fairlock.shown(heir)}, or was already"
  end
  private_constant :HoldState
end
