# frozen_string_literal: true

require "monitor"

require_relative "connections"
require_relative "errors"
require_relative "mailbox"
require_relative "subscription"
require_relative "terms"

module Fairlock
  # Lets any number of locks wait over one connection; their requests use one more. In a fleet of
  # several partitions, these are two connections for each leader that is needed. Pass it to
  # Fairlock.lock as `channel`. Threads may share it. A forked child needs its own.
  class Channel
    # The name of the channel on the server. In a fleet of several partitions, names begin with it.
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
      @connections = OneConnection.make(redis)
      # {name: {[key, owner]: listener}}
      @listeners = {}
      # {the connections to a server: the Subscription there}
      @subscriptions = {}.compare_by_identity
      @gate = Monitor.new
      subscribe_at_once if @connections.single?
    end

    # Closes the connections. Do this after the last wait.
    def close
      return if Process.pid != @process

      open_ones = @gate.synchronize do
        @is_closed = true
        @subscriptions.values
      end
      open_ones.each(&:close)
      @connections.close
    end

    # Sends the requests about a key. For Lock.
    def port(key)
      return @connections.of_key(key) if Process.pid == @process

      raise Error, "this channel was opened by the parent of this process"
    end

    # Returns the name to which the server must send the messages about a key, once the leader of
    # the key has this channel as its subscriber. For Acquisition.
    def ready(key, end_at = nil)
      name = name_for(key)
      leader = @connections.leader(key)
      @gate.synchronize { want(name, leader) }.await(name, end_at)
      name
    end

    # Delivers the messages about these keys of this owner. For Lock.
    def follow(terms, owner, listener)
      each_place(terms, owner) { |name, place| (@listeners[name] ||= {})[place] = listener }
    end

    # The opposite of follow.
    def unfollow(terms, owner)
      each_place(terms, owner) do |name, place|
        places = @listeners[name] || next
        places.delete(place)
        @listeners.delete(name) if places.empty?
      end
    end

    # Takes note of a message. For Subscription.
    def deliver(name, text)
      message = Message.parse(text) || return
      listener = @gate.synchronize { @listeners.dig(name, [message.key, message.owner]) }
      listener&.call(message)
    end

    # Delivers a message to all who follow a key of this name. For Subscription.
    def deliver_to_all(name, message)
      listeners = @gate.synchronize { @listeners[name]&.values.to_a }
      listeners.uniq.each { |listener| listener.call(message) }
    end

    # Leaves to a subscription the names that are in use and belong to its server, subscribes to
    # the others where they belong, and retires a subscription without names. For Subscription.
    def sort_out(subscription, after_failure:)
      return if @connections.single?

      @connections.doubt if after_failure
      @connections.leader(@name) # Asks the fleet, if that is necessary, before others must wait.
      @gate.synchronize do
        next if @is_closed

        subscription.names.each { |name| sort_out_name(name, subscription) }
        retire(subscription) if subscription.names.empty?
      end
    end

    private

    def subscribe_at_once
      ready("")
    rescue *Failures::ALL => error
      close
      raise Failures.translated(error, "the channel")
    end

    # With several partitions, each slot has its own name.
    def name_for(key)
      tag = @connections.channel_tag(key)
      tag ? "#{@name}:{#{tag}}" : @name
    end

    def each_place(terms, owner)
      terms.keys_on_server.each do |key|
        name = name_for(key)
        @gate.synchronize { yield name, [key.b, owner.to_s.b] }
      end
    end

    def want(name, leader)
      subscription = @subscriptions[leader]
      return @subscriptions[leader] = Subscription.new(leader, self, name) if subscription.nil?

      subscription.want(name)
      subscription
    end

    def sort_out_name(name, subscription)
      leader = @listeners.key?(name) ? @connections.leader(name) : nil
      return if subscription.connections.equal?(leader)

      want(name, leader) if leader
      subscription.drop(name)
    end

    def retire(subscription)
      subscription.retire
      @subscriptions.delete(subscription.connections)
    end
  end
end
