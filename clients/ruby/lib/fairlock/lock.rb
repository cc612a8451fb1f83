# frozen_string_literal: true

require_relative "attempt"
require_relative "errors"
require_relative "terms"

module Fairlock
  # A lock to be taken, made by Fairlock.lock. Threads may share it.
  class Lock
    UNTIL_BLOCKING = { Object => :on_blocking }.freeze
    AT_ONCE = { Object => :immediate }.freeze
    NEVER = { Object => :never }.freeze
    private_constant :UNTIL_BLOCKING, :AT_ONCE, :NEVER

    # What the lock was made with. For Attempt.
    attr_reader :redis, :terms, :owner, :channel, :renew, :on_lost, :reentrant

    def initialize(redis, terms, wait: nil, owner: nil, channel: nil, renew: true, on_lost: nil,
                   reentrant: false)
      Terms.check_duration("wait", wait) unless wait.nil?
      @redis = redis
      @terms = terms
      @wait = wait
      @owner = owner
      @channel = channel
      @renew = renew
      @on_lost = on_lost
      @reentrant = reentrant
    end

    # Takes the lock and returns the Hold; if it is not granted, raises Denied.
    def acquire = take(@wait)

    # The same, but a denial costs one request, and a grant a longer reply. For ActiveJob.
    def acquire_or_explain = take(@wait, explain: :at_once)

    # Takes the lock if that is possible without waiting; otherwise returns nil.
    def try_acquire
      take(0, explain: :never)
    rescue Denied
      nil
    end

    # Holds the lock during the block, and returns the block's value. If the lock was lost during
    # the block, raises LostHold at its end.
    def synchronize
      earlier_error = $ERROR_INFO
      attempt = new_attempt(@wait)
      Thread.handle_interrupt(UNTIL_BLOCKING) do
        hold = attempt.take
        Thread.handle_interrupt(AT_ONCE) { yield hold }
      ensure
        begin
          has_failed = !$ERROR_INFO.equal?(earlier_error) || Thread.current.status == "aborting"
          Thread.handle_interrupt(NEVER) { attempt.end_block(has_failed) }
        ensure
          attempt.give_up # a signal is not deferred
        end
      end
    end

    # Gives up what the given owner has of an earlier attempt: a place that is kept, or a hold.
    def give_up
      raise ArgumentError, "only a given owner can give up" if @owner.nil?

      Attempt.new(self, @owner, 0).unlock
    end

    private

    def take(wait, explain: :afterwards)
      attempt = new_attempt(wait, explain: explain)
      hold = Thread.handle_interrupt(UNTIL_BLOCKING) { attempt.take }
      is_complete = true
      hold
    ensure
      Thread.handle_interrupt(NEVER) { attempt.give_up } if attempt && !is_complete
    end

    def new_attempt(wait, explain: :afterwards)
      Attempt.new(self, @owner || Terms.make_owner, wait, explain: explain)
    end
  end
end
