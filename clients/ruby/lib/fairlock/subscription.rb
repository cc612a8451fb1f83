# frozen_string_literal: true

require_relative "clock"
require_relative "failures"
require_relative "pauses"

module Fairlock
  # What a Channel receives from one server: one connection, subscribed to names. It is opened again
  # when it is lost, until the channel needs none of its names.
  class Subscription
    SUBSCRIBE_SECONDS = 5
    # A connection that receives nothing for the read time-out sends itself a message, and is opened
    # again if nothing arrives for this many times as long.
    SILENCES = 3
    # `state` is :wanted, :sent or :confirmed. `change` is signalled when it is confirmed or fails.
    Name = Struct.new(:state, :change)
    private_constant :SUBSCRIBE_SECONDS, :SILENCES, :Name

    # The connections to the server.
    attr_reader :connections

    # `channel` has deliver, deliver_to_all and sort_out.
    def initialize(connections, channel, name)
      @connections = connections
      @channel = channel
      @names = {}
      @mutex = Mutex.new
      @failures = 0
      @silence = connections.read_timeout
      want(name)
      @threads = [Thread.new { read }, Thread.new { pulse }]
    end

    def names = @mutex.synchronize { @names.keys }

    def want(name)
      @mutex.synchronize do
        @names[name] ||= Name.new(:wanted, ConditionVariable.new)
        send_wanted
      end
    end

    # Does not wait for the reply. The reader notices if the connection is lost.
    def drop(name)
      @mutex.synchronize do
        dropped = @names.delete(name)
        next if dropped.nil?

        dropped.change.broadcast
        @sender&.call(:unsubscribe, name)
      end
    rescue *Failures::ALL
      nil
    end

    # Waits until a name is subscribed to; raises the error of a connection that fails meanwhile.
    # After a failure, it waits no longer than until that time.
    def await(name, give_up_at)
      limit = Fairlock.now + SUBSCRIBE_SECONDS
      @mutex.synchronize do
        failures = @failures
        until (awaited = @names[name])&.state == :confirmed
          end_at = @failure ? [give_up_at, limit].compact.min : limit
          left = end_at - Fairlock.now
          raise @failure if @failures > failures || (@failure && left <= 0)
          raise ::Redis::TimeoutError, "SUBSCRIBE: no reply" if left <= 0
          raise ::Redis::ConnectionError, "another server leads now" if awaited.nil?

          awaited.change.wait(@mutex, left)
        end
      end
    end

    # The channel does not need it any more.
    def retire = @is_retired = true

    def close = @threads.each(&:kill).each(&:join)

    private

    def read
      pauses = Pauses.new
      until @is_retired
        begin
          subscribe { pauses = Pauses.new }
        rescue *Failures::ALL => error
          failed(error)
          pauses.pause
          sort_out(after_failure: true)
        end
      end
    end

    def subscribe
      redis = @connections.open
      names = @mutex.synchronize { @names.each_value { |name| name.state = :sent }.keys }
      sender = sender_of(redis)
      Failures.of_gem do
        redis.subscribe_with_timeout(@silence * SILENCES, *names) do |on|
          on.subscribe do |name, _|
            yield
            confirm(name, sender)
          end
          on.message { |name, text| hear(name, text) }
        end
      end
    ensure
      @mutex.synchronize { @sender = nil }
      redis&.close
    end

    # Sends a command over a connection that another thread reads. In version 5 of the gem, that is
    # what its methods do.
    def sender_of(redis)
      client = redis._client
      return ->(*command) { client.write(command) } if client.respond_to?(:write)

      ->(*command) { Failures.of_gem { redis.public_send(*command) } }
    end

    # What was published before the subscription is lost, so the waits must ask again.
    def confirm(name, sender)
      @channel.deliver_to_all(name, Message.new("subscribed"))
      @heard_at = Fairlock.now
      @mutex.synchronize do
        @sender = sender
        @failure = nil
        confirmed = @names[name]
        confirmed ? confirmed.state = :confirmed : sender.call(:unsubscribe, name)
        confirmed&.change&.broadcast
        send_wanted
      end
    end

    # An interrupt must not leave half a command on the connection.
    def send_wanted
      return if @sender.nil?

      wanted = @names.select { |_, name| name.state == :wanted }
      return if wanted.empty?

      Thread.handle_interrupt(Object => :never) { @sender.call(:subscribe, *wanted.keys) }
      wanted.each_value { |name| name.state = :sent }
    end

    def failed(error)
      Fairlock.logger&.warn("fairlock: the channel subscribes again: #{error.message}")
      @mutex.synchronize do
        @failure = error
        @failures += 1
        @names.each_value do |name|
          name.state = :wanted
          name.change.broadcast
        end
      end
    end

    def hear(name, text)
      @heard_at = Fairlock.now
      @channel.deliver(name, text) unless text.empty?
    end

    # Nothing was received for some time: the server may be gone.
    def pulse
      until @is_retired
        sleep(@silence)
        sort_out
        next if @is_retired || (@heard_at && Fairlock.now < @heard_at + @silence)

        check
      end
    end

    def check
      @connections.ask(["PUBLISH", names.first, ""])
    rescue *Failures::ALL => error
      Fairlock.logger&.info("fairlock: the channel cannot be checked: #{error.message}")
    end

    def sort_out(after_failure: false)
      @channel.sort_out(self, after_failure: after_failure)
    rescue *Failures::ALL => error
      Fairlock.logger&.info("fairlock: the channel finds no leader: #{error.message}")
    end
  end
  private_constant :Subscription
end
