# frozen_string_literal: true

require_relative "clock"
require_relative "failures"

module Fairlock
  # Sends its requests over one connection that nobody else uses meanwhile. The end of the
  # connection releases what a request with SESSION was granted. After a failure, the next request
  # uses another connection.
  class Session
    # Yields a session over a connection of these Connections, or of a KeyRoute.
    def self.lend(source)
      session = new(source)
      result = yield session
      is_complete = true
      result
    ensure
      session&.end(is_complete)
    end

    def initialize(source)
      @source = source
    end

    def ask(command)
      @source.follow do |connections|
        use(connections)
        sent_at = Fairlock.now
        Answer.new(@connection.without_reconnect { @connection.call(*command) }, sent_at)
      end
    rescue *Failures::ALL
      self.end(false)
      raise
    end

    def end(is_usable)
      @connections.put(@connection, is_usable) if @connection
      @connection = nil
    end

    private

    def use(connections)
      return if @connection && @connections.equal?(connections)

      self.end(true)
      @connections = connections
      @connection = connections.take
    end
  end
  private_constant :Session
end
