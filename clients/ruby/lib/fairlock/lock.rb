# frozen_string_literal: true

require_relative "attempt"
require_relative "errors"
require_relative "terms"

module Fairlock
  # A lock to be taken, made by Fairlock.lock. Threads may share it.
  class Lock
    def initialize(redis, terms, wait: nil, owner: nil, **options)
      @redis = redis
      @terms = terms
      @wait = wait
      @owner = owner
      @options = options
    end

    # Takes the lock and returns the Hold; if it is not granted, raises Denied.
    def acquire = take(@wait)

    # Takes the lock if that is possible without waiting; otherwise returns nil.
    def try_acquire
      take(0, explain: false)
    rescue Denied
      nil
    end

    # Holds the lock during the block, and returns the block's value. If the lock was lost during
    # the block, raises LostHold at its end.
    def synchronize
      earlier_error = $ERROR_INFO
      attempt = new_attempt(@wait)
      Thread.handle_interrupt(Object => :on_blocking) do
        hold = attempt.take
        Thread.handle_interrupt(Object => :immediate) { yield hold }
      ensure
        begin
          has_failed = !$ERROR_INFO.equal?(earlier_error) || Thread.current.status == "aborting"
          Thread.handle_interrupt(Object => :never) { attempt.end_block(has_failed) }
        ensure
          attempt.give_up # a signal is not deferred
        end
      end
    end

    # Gives up what the given owner has of an earlier attempt: a place that is kept, or a hold.
    def give_up
      raise ArgumentError, "only a given owner can give up" if @owner.nil?

      Attempt.new(@redis, @terms, @owner, 0).unlock
    end

    private

    def take(wait, **options)
      attempt = new_attempt(wait, **options)
      hold = Thread.handle_interrupt(Object => :on_blocking) { attempt.take }
      is_complete = true
      hold
    ensure
      Thread.handle_interrupt(Object => :never) { attempt.give_up } if attempt && !is_complete
    end

    def new_attempt(wait, **options)
      Attempt.new(@redis, @terms, @owner || Terms.make_owner, wait, **@options, **options)
    end
  end
end
