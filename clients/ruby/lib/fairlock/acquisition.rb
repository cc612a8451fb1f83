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
    # The server counts milliseconds, so its message may arrive earlier than the wait is over here.
    EARLY_SECONDS = 0.005
    # A grant that arrives later than this part of the lease after its request is confirmed by
    # RENEW, from which the lease then counts: the time of the grant itself is not known here.
    LATE_PART = 0.1
    NO_EXPLANATION = Explanation.new(status: "denied", holders: []).freeze
    private_constant :GRACE_SECONDS, :WAIT_SECONDS_MIN, :EARLY_SECONDS, :LATE_PART, :NO_EXPLANATION

    # `explain` says when a denial is explained: by a second request (:afterwards), by the first
    # one, whose reply then takes longer to read (:at_once), or :never. `is_named` means that the
    # program named the owner, so a message may still be about an earlier wait.
    def initialize(port, terms, owner, wait, channel: nil, mailbox: nil, explain: :afterwards,
                   is_named: false)
      @port = port
      @terms = terms
      @owner = owner
      @wait = wait
      @give_up_at = wait && (Fairlock.now + wait)
      # With NOTIFY, the server would let a request without WAIT wait.
      @channel = channel unless wait && wait <= 0
      @mailbox = mailbox
      @explain = explain
      @is_named = is_named
      @attempts = 0
    end

    # Asks again while the server cannot be reached. The same owner keeps its place.
    def run
      pauses = nil
      begin
        @attempts += 1
        ask
      rescue *Failures::ALL => error
        raise Failures.translated(error, @terms.names) unless Failures.temporary?(error)
        raise unless ask_again?

        # A read time-out that is shorter than the wait is no failure.
        pauses ||= Pauses.new
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

    # Clients need longer to read a map than the server to grant a lock, so only a denial is
    # explained. Whether MAXWAITERS was the reason is known in the first reply only.
    def ask
      name = @channel&.ready(@terms.first_key, @give_up_at)
      # A message about an earlier request must not be taken for the answer to this one.
      @mailbox&.clear
      is_explained = @explain == :at_once || !@terms.max_waiters.nil?
      answer = @port.ask(@terms.lock(@owner, left, channel: name, explain: is_explained))
      return decide(answer) if is_explained
      return confirm(answer.reply, answer.sent_at) if answer.reply
      return listen(answer.sent_at) if @channel

      raise Denied, NO_EXPLANATION if @explain == :never

      ask_why
    end

    def left
      return if @give_up_at.nil?
      return 0 if @wait <= 0

      [@give_up_at - Fairlock.now, WAIT_SECONDS_MIN].max
    end

    def decide(answer)
      explanation = @terms.explanation(answer.reply)
      return confirm(explanation.token, answer.sent_at) if explanation.token
      return listen(answer.sent_at) if @channel && explanation.status == "queued"

      raise denied(explanation)
    end

    def denied(explanation) = Denied.new(explanation, @terms.names, @wait)

    def confirm(token, sent_at, always: false)
      lease = @terms.lease
      is_late = lease && Fairlock.now - sent_at > lease * LATE_PART
      return Grant.new(token, sent_at) unless always || is_late

      answer = @port.ask(@terms.renew(@owner, token, lease))
      return Grant.new(token, answer.sent_at) if answer.reply == 1

      raise ::Redis::TimeoutError, "the lease ended before its grant was confirmed"
    end

    def listen(sent_at)
      loop do
        message = @mailbox.take(@give_up_at && (@give_up_at + GRACE_SECONDS))
        raise ::Redis::TimeoutError, "no message about the end of the wait" if message.nil?

        if message.event == "subscribed"
          raise ::Redis::ConnectionError, "the connection of the channel was lost"
        end

        grant = outcome(message, sent_at)
        return grant if grant
      end
    end

    # Returns nil if the message is not about the end of this wait.
    def outcome(message, sent_at)
      case message.event
      when "granted" then confirm(message.token, sent_at, always: @is_named)
      when "timeout" then ask_why if wait_over?
      when "cancelled" then raise ended(message) unless @is_named && still_waits?
      when "superseded" then raise ended(message)
      end
    end

    def wait_over? = !@give_up_at.nil? && Fairlock.now >= @give_up_at - EARLY_SECONDS

    def still_waits? = !@port.ask(["POSITION", @terms.first_key, @owner]).reply.nil?

    def ended(message)
      return Deadlock.new("#{@terms.names}: the wait would never end") if
        message.reason == "deadlock"

      WaitEnded.new("#{@terms.names}: #{message.event}: another request ended this wait")
    end

    # Asks once more, without waiting.
    def ask_why
      answer = @port.ask(@terms.lock(@owner, 0, explain: true))
      explanation = @terms.explanation(answer.reply)
      return confirm(explanation.token, answer.sent_at) if explanation.token

      explanation.status = "timeout" if @wait&.positive?
      raise denied(explanation)
    end
  end
  private_constant :Acquisition
end
