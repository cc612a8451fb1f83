# frozen_string_literal: true

require "English"

require_relative "acquisition"
require_relative "connections"
require_relative "failures"
require_relative "hold"
require_relative "mailbox"
require_relative "nesting"
require_relative "pauses"

module Fairlock
  # One acquisition. Whatever ends it, it leaves neither a hold nor a place behind, unless its hold
  # was returned or the server denied the lock and keeps the place.
  class Attempt
    GIVE_UP_SECONDS = 5
    # An interrupted request that the server has not received by then was never sent.
    ARRIVAL_SECONDS = 0.1
    private_constant :GIVE_UP_SECONDS, :ARRIVAL_SECONDS

    def initialize(lock, owner, wait, explain: :afterwards)
      @lock = lock
      @terms = lock.terms.with_prefix(Connections.prefix_of(lock.redis))
      @channel = lock.channel
      key = @terms.first_key
      @connections = Connections.of(lock.redis)
      @port = @channel ? @channel.port(key) : @connections.of_key(key)
      @owner = owner
      @wait = wait
      @explain = explain
      @is_named = !lock.owner.nil?
    end

    def take
      @hold = outer&.nested
      @hold || take_anew
    rescue StandardError => error
      @error = error
      raise
    end

    # Gives up for a caller that does not get the hold. Does nothing after a release.
    def give_up
      return @hold.release if @hold
      return if @is_settled

      abandon if @is_asked && (@error.nil? || Failures.may_leave_something?(@error))
      @channel&.unfollow(@terms, @owner)
      @is_settled = true
    end

    def end_block(has_failed)
      @hold ? @hold.end_block(has_failed) : give_up
    end

    # Releases whatever the owner has of these keys.
    def unlock(give_up_at = Fairlock.now + GIVE_UP_SECONDS)
      pauses = Pauses.new
      begin
        @port.ask(@terms.unlock(@owner))
      rescue *Failures::ALL => error
        if Failures.temporary?(error) && Fairlock.now < give_up_at
          pauses.pause
          retry
        end
        Fairlock.logger&.warn("fairlock: giving up #{@terms.names}: #{error.message}")
      end
    end

    private

    def take_anew
      Nesting.refuse(@terms, @connections) unless @is_named || @wait&.zero?
      @is_asked = true
      state = HoldState.new(@terms, @owner, ask)
      @hold = Hold.new(@port, state, @channel, @lock.renew, @lock.on_lost)
      @hold.note(@connections)
      @mailbox&.clear&.each { |message| @hold.hear(message) }
      @hold
    end

    # What the thread holds of the same keys, if it may share it.
    def outer
      Nesting.reentered(@terms, @connections, @lock.owner)&.hold if @lock.reentrant
    end

    def ask
      if @channel
        @mailbox = Mailbox.new
        @channel.follow(@terms, @owner, @mailbox.method(:put))
      end
      Acquisition.new(@port, @terms, @owner, @wait, channel: @channel, mailbox: @mailbox,
                                                    explain: @explain, is_named: @is_named).run
    end

    # The release uses another connection than the interrupted request, and may overtake it. So it
    # is repeated.
    def abandon
      is_network_failure = @error && Failures::ALL.any? { |kind| @error.is_a?(kind) }
      return unlock(Fairlock.now) if is_network_failure

      give_up_at = Fairlock.now + GIVE_UP_SECONDS
      unlock(give_up_at)
      sleep(ARRIVAL_SECONDS)
      unlock(give_up_at)
    end
  end
  private_constant :Attempt
end
