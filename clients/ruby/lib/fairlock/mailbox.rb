# frozen_string_literal: true

require "json"

require_relative "clock"

module Fairlock
  # A message on a NOTIFY channel. `event` is "granted", "timeout", "cancelled", "superseded",
  # "lost"; or "subscribed", which the channel itself delivers when it has a connection again.
  Message = Struct.new(:event, :key, :owner, :token, :reason) do
    # Returns nil for a message that is not the server's, because anyone may publish on the channel.
    def self.parse(text)
      fields = JSON.parse(text)
      return unless fields.is_a?(Hash) && %w[key owner].all? { |name| fields[name].is_a?(String) }

      new(fields["event"], exact(fields, "key"), exact(fields, "owner"), fields["token"],
          fields["reason"])
    rescue JSON::ParserError
      nil
    end

    def self.exact(fields, name)
      base64 = fields["#{name}_base64"]
      base64 ? base64.unpack1("m") : fields[name].b
    end
  end
  private_constant :Message

  # Messages for one acquisition. Queue#pop has no time limit before Ruby 3.2.
  class Mailbox
    def initialize
      @messages = []
      @mutex = Mutex.new
      @arrival = ConditionVariable.new
    end

    def put(message)
      @mutex.synchronize do
        @messages << message
        @arrival.signal
      end
    end

    # The next message, or nil if there is none until that time; nil waits without end.
    def take(end_at)
      @mutex.synchronize do
        while @messages.empty?
          left = end_at && (end_at - Fairlock.now)
          return if left && left <= 0

          @arrival.wait(@mutex, left)
        end
        @messages.shift
      end
    end

    def clear = @mutex.synchronize { @messages.slice!(0..) }
  end
  private_constant :Mailbox
end
