# frozen_string_literal: true

require_relative "clock"
require_relative "errors"
require_relative "explanation"
require_relative "failures"
require_relative "pauses"

module Fairlock
  # A token, and a time from which at least one whole lease counts.
  Grant = Struct.new(:token, :sent_at)
  private_constant :Grant

  # Asks for a lock until it is granted or denied, or the wait is over.
  class Acquisition
    # The server ends a wait itself. The client waits this much longer for a message about it.
    GRACE_SECONDS = 5
    WAIT_SECONDS_MIN = 0.001
    # A grant that arrives later than this part of the lease after its request is confirmed by
    # RENEW, from which the lease then counts: the time of the grant itself is not known here.
    LATE_PART = 0.1
    private_constant :GRACE_SECONDS, :WAIT_SECONDS_MIN, :LATE_PART

    def initialize(port, terms, owner, wait, channel: nil, mailbox: nil)
      @port = port
      @terms = terms
      @owner = owner
      @wait = wait
      @give_up_at = wait && (Fairlock.now + wait)
      # With NOTIFY, the server would let a request without WAIT wait.
      @channel = channel unless wait && wait <= 0
      @mailbox = mailbox
      @attempts = 0
    end

    # Asks again while the server cannot be reached. The same owner keeps its place.
    def run
      pauses = Pauses.new
      begin
        @attempts += 1
        ask
      rescue *Failures::ALL => error
        raise Failures.translated(error) unless Failures.temporary?(error)
        raise unless ask_again?

        # A read time-out that is shorter than the wait is no failure.
        pauses.pause(@give_up_at) unless error.is_a?(::Redis::TimeoutError)
        retry
      end
    end

    private

    # The server may have closed a connection that was not in use, so there is a second attempt
    # even without a wait.
    def ask_again?
      @give_up_at.nil? || Fairlock.now < @give_up_at || (@wait <= 0 && @attempts == 1)
    end

    def ask
      # A message about an earlier request must not be taken for the answer to this one.
      @mailbox&.clear
      answer = @port.ask(@terms.lock(@owner, left, @channel))
      explanation = Explanation.parse(answer.reply)
      return listen(answer.sent_at) if explanation.status == "queued" && @channel

      decide(explanation, answer.sent_at)
    end

    def left
      return if @give_up_at.nil?
      return 0 if @wait <= 0

      [@give_up_at - Fairlock.now, WAIT_SECONDS_MIN].max
    end

    def decide(explanation, sent_at)
      raise Denied, explanation if explanation.token.nil?

      confirm(explanation.token, sent_at)
    end

    def confirm(token, sent_at)
      lease = @terms.lease
      return Grant.new(token, sent_at) if lease.nil? || Fairlock.now - sent_at <= lease * LATE_PART

      answer = @port.ask(@terms.renew(@owner, token, lease))
      return Grant.new(token, answer.sent_at) if answer.reply == 1

      raise ::Redis::TimeoutError, "the lease ended before its grant was confirmed"
    end

    def listen(sent_at)
      loop do
        message = @mailbox.take(@give_up_at && (@give_up_at + GRACE_SECONDS))
        raise ::Redis::TimeoutError, "no message about the end of the wait" if message.nil?

        case message.event
        when "granted" then return confirm(message.token, sent_at)
        when "timeout" then return ask_why
        when "subscribed"
          raise ::Redis::ConnectionError, "the connection of the channel was lost"
        when "cancelled", "superseded" then raise ended(message)
        end
      end
    end

    def ended(message)
      return Deadlock.new("the wait would never end") if message.reason == "deadlock"

      WaitEnded.new("#{message.event}: another request ended this wait")
    end

    # Asks once more, without waiting: the message about a time-out names no holders.
    def ask_why
      answer = @port.ask(@terms.lock(@owner, 0))
      explanation = Explanation.parse(answer.reply)
      explanation.status = "timeout" if explanation.token.nil?
      decide(explanation, answer.sent_at)
    end
  end
  private_constant :Acquisition
end
