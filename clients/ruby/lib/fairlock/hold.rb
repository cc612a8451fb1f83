# frozen_string_literal: true

require_relative "errors"
require_relative "explanation"
require_relative "failures"
require_relative "hold_state"
require_relative "pauses"
require_relative "renewals"
require_relative "terms"

module Fairlock
  # A lock that is held. In a child that was forked meanwhile, its methods send nothing.
  class Hold
    # A release, or a transfer, is repeated for this time.
    REPEAT_SECONDS = 5
    NEVER = { Object => :never }.freeze
    UNKNOWN = "the server does not know it any more"
    private_constant :REPEAT_SECONDS, :NEVER, :UNKNOWN

    def initialize(port, state, channel, renew, on_lost)
      @port = port
      @state = state
      @channel = channel
      @renew = renew
      @on_lost = on_lost
      channel&.follow(state.terms, state.owner, method(:hear))
      watch if renew || on_lost
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
      self
    end

    # Renews the lease now; with `lease`, this is its length from now on. A renewal never makes a
    # lease end earlier than before.
    def renew(lease: nil)
      Terms.check_duration("lease", lease, may_be_zero: false) unless lease.nil?
      check
      begin
        ask_renewal(lease || @state.lease)
        @state.lease = lease if lease
      ensure
        watch if @renew || @on_lost
      end
      check
    rescue *Failures::ALL => error
      raise Failures.translated(error, @state.terms.names)
    end

    # Releases the lock; returns whether it was held until now. If the server cannot be reached,
    # the lease ends the hold later, and the result is what this process knew.
    def release
      return false if !@state.of_this_process? || @state.released?

      Thread.handle_interrupt(NEVER) do
        release_until_answered
      ensure
        release_until_answered unless @state.released? # a signal is not deferred
        leave
      end
    end

    # Gives the lock to another owner, and returns its token. The new owner gets its own hold with
    # Fairlock.lock(..., owner: new_owner). From the request on, this hold is not held any more,
    # unless the server refuses the transfer.
    def transfer(new_owner, lease: nil)
      Terms.check_duration("lease", lease, may_be_zero: false) unless lease.nil?
      check
      raise ArgumentError, "only a lock of one key can be transferred" unless keys.one?

      command = @state.terms.transfer(owner, @state.token, new_owner, lease || @state.lease)
      begin
        token = @state.transferring_to(new_owner) { transfer_until_answered(command, new_owner) }
      ensure
        @state.released? ? leave : notice_loss
      end
      check unless token
      token
    rescue *Failures::ALL => error
      raise Failures.translated(error, @state.terms.names)
    end

    # Ends a block that held the lock: releases it, and raises LostHold if it was lost during a
    # block that did not fail. For Lock.
    def end_block(has_failed)
      return if !@state.of_this_process? || @state.released?
      return if release || has_failed

      raise LostHold, "#{@state.terms.names} was lost before it was released"
    end

    # Takes note of a message on the channel.
    def hear(message)
      @state.hear(message)
      notice_loss
    end

    # Renews the lease, or reports its loss. For Renewals.
    def fall_due
      return if @state.over?
      return report_loss if @state.lost
      return watch unless renews? && Fairlock.now >= @state.renew_at

      Renewals.of_this_process.watch(self, deadline)
      Thread.new { renew_until_answered }
    end

    private

    def watch
      @renewals = Renewals.of_this_process
      @renewals.watch(self, renews? ? @state.renew_at : deadline)
    end

    # A refusal during a transfer does not end the hold before the transfer does.
    def renews? = @renew && !@state.doubted?

    def notice_loss
      Renewals.of_this_process.watch(self, Fairlock.now) if @state.lost && @on_lost
    end

    # A refusal is final, because a token never returns.
    def ask_renewal(lease)
      answer = @port.ask(@state.terms.renew(owner, @state.token, lease))
      if answer.reply != 1
        @state.lose(UNKNOWN)
      elsif @state.lost.nil?
        @state.renewed(lease, answer.sent_at)
      end
    end

    # The server may be restarting: asks again while the lease lasts.
    def renew_until_answered
      pauses = Pauses.new
      until @state.over? || @state.lost || @state.doubted?
        begin
          break ask_renewal(@state.lease)
        rescue *Failures::ALL => error
          Fairlock.logger&.warn("fairlock: renewing #{@state.terms.names}: #{error.message}")
          pauses.pause(deadline)
        end
      end
      return if @state.over?

      @state.lost ? Renewals.of_this_process.watch(self, Fairlock.now) : watch
    end

    def release_until_answered
      was_held = @state.lost.nil?
      is_repeated = @state.over? # and interrupted
      @state.end_by_owner
      give_up_at = Fairlock.now + REPEAT_SECONDS
      pauses = nil
      begin
        reply = @port.ask(@state.terms.unlock(owner, @state.token)).reply
        @state.released
        # The first of two requests may have been executed although its reply was lost.
        was_held && (is_repeated || reply == keys.size)
      rescue *Failures::ALL => error
        if Failures.temporary?(error) && Fairlock.now < give_up_at
          is_repeated = true
          pauses ||= Pauses.new
          pauses.pause
          retry
        end
        Fairlock.logger&.warn("fairlock: releasing #{@state.terms.names}: #{error.message}")
        @state.released
        was_held
      end
    end

    # Asks again while the server cannot be reached: the token in the command lets only one of the
    # requests succeed. Returns nil if none did.
    def transfer_until_answered(command, new_owner)
      give_up_at = Fairlock.now + REPEAT_SECONDS
      pauses = nil
      begin
        ask_transfer(command, new_owner, !pauses.nil?)
      rescue *Failures::ALL => error
        is_temporary = Failures.temporary?(error)
        @state.refuse_transfer unless is_temporary || pauses
        raise unless is_temporary && may_repeat_until?(give_up_at)

        pauses ||= Pauses.new
        pauses.pause
        retry
      end
    end

    def ask_transfer(command, new_owner, is_repeated)
      token = @port.ask(command).reply
      token = token_of_heir(new_owner) if token.nil? && is_repeated
      token ? @state.released : @state.lose(UNKNOWN)
      token
    end

    def may_repeat_until?(time) = Fairlock.now < time && @state.lost.nil?

    # The token that an earlier request has given the new owner: while the lease lasts, nothing else
    # can have given it one.
    def token_of_heir(new_owner)
      holders = Replies.map(@port.ask(@state.terms.lock_info).reply)["holders"]
      token = holders.map { |holder| Holder.parse(holder) }
                     .find { |holder| holder.owner.b == new_owner.to_s.b }&.token
      token if token && token > @state.token && @state.lost.nil?
    end

    def leave
      @renewals.forget(self) if @renewals && @state.of_this_process?
      @channel&.unfollow(@state.terms, owner)
    end

    def report_loss
      callback = @on_lost
      @on_lost = nil
      Thread.new { callback.call(self) } if callback
    end
  end
end
