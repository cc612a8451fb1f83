# frozen_string_literal: true

require "openssl"
require "redis"

require_relative "errors"

module Fairlock
  # Which errors of the redis gem are worth asking again, and which errors of ours the others are.
  module Failures
    # Version 4 of the gem does not wrap all errors of sockets.
    ALL = [::Redis::BaseError, OpenSSL::SSL::SSLError, SystemCallError, IOError, SocketError].freeze
    TEMPORARY_WORDS = %w[CLUSTERDOWN LOADING NOQUORUM READONLY TRYAGAIN].freeze

    module_function

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

    # The error of this library for an error reply, or the error itself.
    def translated(error)
      return error unless error.is_a?(::Redis::CommandError)

      case word(error)
      when "DEADLOCK" then Deadlock.new(error.message.delete_prefix("DEADLOCK "))
      when "SUPERSEDED", "CANCELLED", "UNBLOCKED" then WaitEnded.new(error.message)
      when "MOVED" then NeedsCluster.new(error.message)
      else
        return error unless error.message.downcase.include?("unknown command")

        NotFairlock.new("the server is not fairlock, it may be Redis: #{error.message}")
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
