# frozen_string_literal: true

require_relative "errors"
require_relative "failures"
require_relative "hold_state"
require_relative "holding"
require_relative "terms"

module Fairlock
  # A lock that is held. In a child that was forked meanwhile, its methods send nothing. One that is
  # dropped without a release is not renewed any more, and ends with its lease.
  class Hold
    def initialize(port, state, channel, renew, on_lost)
      @on_lost = on_lost
      share(Holding.new(port, state, channel, renew, !on_lost.nil?))
      @holding.watch
    end

    # The same hold for an acquisition in its block. For Attempt.
    def nested
      Hold.allocate.tap { |other| other.share(@holding, self) }
    end

    # The keys that are held.
    def keys = @state.terms.keys

    # The owner, as the server knows it.
    def owner = @state.owner

    # The fencing token, to be sent with every write. Raises LostHold like check.
    def token
      check
      @state.token
    end

    # The lease lasts at least until this time of Fairlock.now, unless it is renewed.
    def deadline = @state.deadline

    # Raises LostHold if the lock is lost, or if its lease may have ended. Sends nothing.
    def check
      @state.check
      raise LostHold, "#{@state.terms.names} was released" if @holding.left?(@sharer)

      self
    end

    # Renews the lease now; with `lease`, this is its length from now on. A renewal never makes a
    # lease end earlier than before.
    def renew(lease: nil)
      Terms.check_duration("lease", lease, may_be_zero: false) unless lease.nil?
      check
      @holding.renew(lease)
      check
    rescue *Failures::ALL => error
      raise Failures.translated(error, @state.terms.names)
    end

    # Releases the lock; returns whether it was held until now. If the server cannot be reached,
    # the lease ends the hold later, and the result is what this process knew.
    def release
      return false if ended?

      # Otherwise, it goes on for the block around this one.
      @holding.leave?(self, @sharer) ? @holding.release : @state.lost.nil?
    end

    # Gives the lock to another owner, and returns its token. The new owner gets its own hold with
    # Fairlock.lock(..., owner: new_owner). From the request on, this hold is not held any more,
    # unless the server refuses the transfer.
    def transfer(new_owner, lease: nil)
      Terms.check_duration("lease", lease, may_be_zero: false) unless lease.nil?
      check
      raise ArgumentError, "only a lock of one key can be transferred" unless keys.one?

      token = @holding.transfer(new_owner, lease)
      check unless token
      token
    rescue *Failures::ALL => error
      raise Failures.translated(error, @state.terms.names)
    end

    # Ends a block that held the lock: releases it, and raises LostHold if it was lost during a
    # block that did not fail. For Lock.
    def end_block(has_failed)
      return if ended?
      return if release || has_failed

      raise LostHold, "#{@state.terms.names} was lost before it was released"
    end

    # Takes note of a message on the channel.
    def hear(message) = @holding.hear(message)

    # The thread that is running has it, from connections of this client. For Attempt.
    def note(place) = @holding.note(place)

    # It goes on without this object, until its lease ends. For ActiveJob.
    def detach = @holding.detach(self, @sharer)

    # Calls on_lost, once, in another thread. For Holding.
    def report_loss
      callback = @on_lost
      @on_lost = nil
      Thread.new { callback.call(self) } if callback
    end

    protected

    # `outer`: the hold of the first acquisition, which this one keeps from being collected.
    def share(holding, outer = nil)
      @outer = outer
      @state = holding.state
      @holding = holding
      @sharer = holding.join(self)
    end

    private

    # Whether there is nothing left to release for this acquisition.
    def ended? = !@state.of_this_process? || @state.released? || @holding.left?(@sharer)
  end
end
