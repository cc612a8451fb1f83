# frozen_string_literal: true

require_relative "errors"
require_relative "explanation"
require_relative "failures"
require_relative "nesting"
require_relative "pauses"
require_relative "renewals"

module Fairlock
  # Renews a hold, and ends it. The thread of all renewals and the channel refer to it, but it does
  # not keep the Hold that the program has: if the program drops that, the lock ends with its lease.
  class Holding
    # A release, or a transfer, is repeated for this time.
    REPEAT_SECONDS = 5
    NEVER = { Object => :never }.freeze
    UNKNOWN = "the server does not know it any more"
    HOLDS = ObjectSpace::WeakMap.new
    private_constant :REPEAT_SECONDS, :NEVER, :UNKNOWN, :HOLDS

    # What to do when one Hold is garbage-collected. The Proc must not refer to it. When the process
    # ends, and every object is collected, there is no main thread.
    def self.finalizer(holding, sharer)
      proc { holding.drop(sharer) if Thread.main.status }
    end

    attr_reader :state

    def initialize(port, state, channel, renew, reports_loss)
      @port = port
      @state = state
      @channel = channel
      @renew = renew
      @reports_loss = reports_loss
      @sharers = {}.compare_by_identity # one for each Hold that was not released
      channel&.follow(state.terms, state.owner, method(:hear))
    end

    def terms = @state.terms
    def owner = @state.owner
    def deadline = @state.deadline

    # Counts an acquisition; returns what stands for it.
    def join(hold)
      HOLDS[self] = hold if @sharers.empty?
      Object.new.tap do |sharer|
        @sharers[sharer] = true
        ObjectSpace.define_finalizer(hold, Holding.finalizer(self, sharer))
      end
    end

    # An acquisition is over. Returns whether it was the last one. May be repeated.
    def leave?(hold, sharer)
      ObjectSpace.undefine_finalizer(hold)
      @sharers.delete(sharer)
      @sharers.empty?
    end

    # Whether this acquisition is over, and others are not.
    def left?(sharer) = !@sharers.empty? && !@sharers.key?(sharer)

    # The Hold of the first acquisition, unless the program has dropped it.
    def hold = HOLDS[self]

    def over? = @state.over?

    # As far as this process knows.
    def held? = @state.of_this_process? && !over? && @state.lost.nil?

    # Whether the hold is certain: no transfer is under way either.
    def certain?
      @state.check
      true
    rescue LostHold
      false
    end

    # The program has lost an acquisition without a release. It runs in the middle of anything, so
    # that another thread does what takes locks.
    def drop(sharer)
      @sharers.delete(sharer)
      return unless @sharers.empty? && held?

      @state.end_by_owner
      Thread.new do
        leave
        text = "fairlock: a hold of #{terms.names} was dropped without a release: it ends with " \
               "its lease"
        Fairlock.logger ? Fairlock.logger.warn(text) : Kernel.warn(text)
      end
    end

    # The thread that is running has it, from connections of this client.
    def note(place)
      @held = Nesting.here
      Nesting.note(@held, self, place)
    end

    # It is not renewed, and goes on without the program.
    def detach(hold, sharer)
      leave?(hold, sharer)
      Nesting.forget(@held, self) if @held
    end

    # When the renewal, or the end of the lease, is due.
    def watch
      return unless @renew || @reports_loss

      @renewals = Renewals.of_this_process
      @renewals.watch(self, renews? ? @state.renew_at : deadline)
    end

    # Renews once.
    def renew(lease)
      ask_renewal(lease || @state.lease)
      @state.lease = lease if lease
    ensure
      watch
    end

    # Returns whether the lock was held until now.
    def release
      Thread.handle_interrupt(NEVER) do
        release_until_answered
      ensure
        release_until_answered unless @state.released? # a signal is not deferred
        leave
      end
    end

    # Returns the new token, or nil.
    def transfer(new_owner, lease)
      command = terms.transfer(owner, @state.token, new_owner, lease || @state.lease)
      begin
        @state.transferring_to(new_owner) { transfer_until_answered(command, new_owner) }
      ensure
        @state.released? ? leave : notice_loss
      end
    end

    # Takes note of a message on the channel.
    def hear(message)
      @state.hear(message)
      notice_loss
    end

    # Renews the lease, or reports its loss. For Renewals.
    def fall_due
      return if over?
      return hold&.report_loss if @state.lost
      return watch unless renews? && Fairlock.now >= @state.renew_at

      Renewals.of_this_process.watch(self, deadline)
      Thread.new { renew_until_answered }
    end

    private

    # A refusal during a transfer does not end the hold before the transfer does.
    def renews? = @renew && !@state.doubted?

    def notice_loss
      Renewals.of_this_process.watch(self, Fairlock.now) if @state.lost && @reports_loss
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
        was_held && (is_repeated || reply == terms.keys.size)
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

    # What an earlier request has given the new owner: while the lease lasts, nothing else can have.
    def token_of_heir(new_owner)
      holders = Replies.map(@port.ask(@state.terms.lock_info).reply)["holders"]
      token = holders.map { |holder| Holder.parse(holder) }
                     .find { |holder| holder.owner.b == new_owner.to_s.b }&.token
      token if token && token > @state.token && @state.lost.nil?
    end

    def leave
      @renewals.forget(self) if @renewals && @state.of_this_process?
      @channel&.unfollow(terms, owner)
      Nesting.forget(@held, self) if @held
    end
  end
  private_constant :Holding
end
