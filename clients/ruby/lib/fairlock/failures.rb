# frozen_string_literal: true

require "openssl"
require "redis"

require_relative "errors"

module Fairlock
  # Decides after which errors of the redis gem a request is worth repeating, and which errors of
  # this library stand for the others.
  module Failures
    # Version 4 of the gem does not wrap all errors of sockets.
    ALL = [::Redis::BaseError, OpenSSL::SSL::SSLError, SystemCallError, IOError, SocketError].freeze
    # Since version 5, the gem builds on another one, and does not translate all of its errors.
    OF_ITS_CLIENT = defined?(::RedisClient::Error) ? [::RedisClient::Error].freeze : [].freeze
    TEMPORARY_WORDS = %w[CLUSTERDOWN LOADING NOQUORUM READONLY TRYAGAIN].freeze

    private_constant :OF_ITS_CLIENT

    module_function

    # Raises the errors of the block as errors of the gem, which ALL contains.
    def of_gem
      yield
    rescue *OF_ITS_CLIENT => error
      raise kind_in_gem(error), error.message, error.backtrace
    end

    # A password that is refused is no reason to ask again, although the gem says so.
    def kind_in_gem(error)
      case error
      when ::RedisClient::TimeoutError then ::Redis::TimeoutError
      when ::RedisClient::CannotConnectError then ::Redis::CannotConnectError
      when ::RedisClient::PermissionError then ::Redis::PermissionError
      when ::RedisClient::CommandError then ::Redis::CommandError
      when ::RedisClient::ConnectionError then ::Redis::ConnectionError
      else ::Redis::ProtocolError
      end
    end

    # Whether the same request may succeed later: the server is restarting, or fails over.
    def temporary?(error)
      return false if about_certificates?(error)

      case error
      when ::Redis::CommandError
        # A channel has no subscriber while its connection is re-established.
        TEMPORARY_WORDS.include?(word(error)) || error.message.include?("has no subscriber")
      when ::Redis::BaseConnectionError then true
      else !error.is_a?(::Redis::BaseError)
      end
    end

    # Whether a request that ended with this error may have left a place or a hold.
    def may_leave_something?(error)
      ALL.any? { |kind| error.is_a?(kind) } ? temporary?(error) : !error.is_a?(Error)
    end

    # The error of this library for an error reply, whose text begins with these names; or the error
    # itself.
    def translated(error, names)
      return error unless error.is_a?(::Redis::CommandError)

      text = error.message
      case word(error)
      when "DEADLOCK" then Deadlock.new("#{names}: #{text.delete_prefix('DEADLOCK ')}")
      when "SUPERSEDED", "CANCELLED", "UNBLOCKED" then WaitEnded.new("#{names}: #{text}")
      when "MOVED" then NeedsCluster.new(text, names)
      else
        return error unless text.downcase.include?("unknown command")

        NotFairlock.new("#{names}: the server is not fairlock, it may be Redis: #{text}")
      end
    end

    # Whether a node of a fleet of several partitions says that another one serves the key.
    def moved?(error) = error.is_a?(::Redis::CommandError) && word(error) == "MOVED"

    def word(error) = error.message[/\A[A-Z]+/]

    def about_certificates?(error)
      [error, error.cause].any? do |one|
        one.is_a?(OpenSSL::SSL::SSLError) && one.message.match?(/certificate|hostname/)
      end
    end
  end
  private_constant :Failures
end
