# frozen_string_literal: true

require_relative "connections"
require_relative "errors"
require_relative "mailbox"
require_relative "pauses"
require_relative "terms"

module Fairlock
  # Lets any number of locks wait over one connection; their requests use one more. Pass it to
  # Fairlock.lock as `channel`. Threads may share it. A forked child needs its own.
  class Channel
    SUBSCRIBE_SECONDS = 5
    # A channel that receives nothing for its client's read time-out sends itself a message, and
    # subscribes again if nothing arrives for this many times as long.
    SILENCES = 3
    private_constant :SUBSCRIBE_SECONDS, :SILENCES

    # The name of the channel on the server.
    attr_reader :name

    # With a block, closes the channel at its end and returns the block's value.
    def self.open(redis)
      channel = new(redis)
      yield channel
    ensure
      channel&.close
    end

    def initialize(redis)
      @name = "fairlock:#{Terms.make_owner}"
      @process = Process.pid
      @connections = Connections.of(redis)
      @port = OneConnection.new(redis)
      @silence = @connections.read_timeout
      @listeners = {}
      @state = Mailbox.new
      @reader = Thread.new { read }
      @pulse = Thread.new { pulse }
      wait_until_subscribed
    end

    # Closes the connections. Do this after the last wait.
    def close
      return if Process.pid != @process

      [@reader, @pulse].each(&:kill).each(&:join)
      @port.close
    end

    # Sends the requests of the locks that wait. For Lock.
    def port
      return @port if Process.pid == @process

      raise Error, "this channel was opened by the parent of this process"
    end

    # Delivers the messages about these keys of this owner. For Lock.
    def follow(terms, owner, listener)
      names(terms, owner).each { |name| @listeners[name] = listener }
    end

    # The opposite of follow.
    def unfollow(terms, owner) = names(terms, owner).each { |name| @listeners.delete(name) }

    private

    def names(terms, owner) = terms.keys.map { |key| [key.b, owner.to_s.b] }

    def wait_until_subscribed
      failure = @state.take(Fairlock.now + SUBSCRIBE_SECONDS)
      return if failure == :subscribed

      close
      raise Failures.translated(failure) if failure

      raise ::Redis::TimeoutError, "SUBSCRIBE: no reply within #{SUBSCRIBE_SECONDS} s"
    end

    def read
      pauses = Pauses.new
      loop do
        subscribe { pauses = Pauses.new }
      rescue *Failures::ALL => error
        @state.put(error)
        Fairlock.logger&.warn("fairlock: the channel subscribes again: #{error.message}")
        pauses.pause
      end
    end

    def subscribe
      redis = @connections.open
      redis.subscribe_with_timeout(@silence * SILENCES, @name) do |on|
        on.subscribe do
          yield
          heard
          deliver_to_all
        end
        on.message { |_, text| deliver(text) }
      end
    ensure
      redis&.close
    end

    def heard
      @state.put(:subscribed)
      @heard_at = Fairlock.now
    end

    # What was published before the subscription is lost, so all waits must ask again.
    def deliver_to_all
      @listeners.values.uniq.each { |listener| listener.call(Message.new("subscribed")) }
    end

    def deliver(text)
      @heard_at = Fairlock.now
      return if text.empty?

      message = Message.parse(text)
      @listeners[[message.key, message.owner]]&.call(message)
    end

    # Nothing was received for some time: the server may be gone.
    def pulse
      loop do
        sleep(@silence)
        next if @heard_at && Fairlock.now < @heard_at + @silence

        @port.ask(["PUBLISH", @name, ""])
      rescue *Failures::ALL => error
        Fairlock.logger&.info("fairlock: the channel cannot be checked: #{error.message}")
      end
    end
  end
end
