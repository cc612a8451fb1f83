# frozen_string_literal: true

require "securerandom"
require "socket"

module Fairlock
  # The options of a lock, and the commands that ask for it. Times are in seconds.
  class Terms
    HOST = Socket.gethostname.freeze
    private_constant :HOST

    # A name for one execution: the host, the process and a random part.
    def self.make_owner = "#{HOST}:#{Process.pid}:#{SecureRandom.hex(8)}"

    def self.milliseconds(seconds) = [1, (seconds * 1000).ceil].max

    attr_reader :keys, :lease, :max_waiters

    def initialize(keys:, lease: 30, limit: nil, shared: false, keep: nil, min_hold: nil,
                   max_waiters: nil, meta: nil, label: nil, session: false)
      @keys = keys.map { |key| key.is_a?(String) ? key.dup.freeze : key.to_s }.freeze
      @lease = lease
      @max_waiters = max_waiters
      @words = words(keep: keep, min_hold: min_hold, "LIMIT" => limit, "MAXWAITERS" => max_waiters,
                     "META" => meta, "LABEL" => label)
      @words << "SHARED" if shared
      @words << "SESSION" if session
      refuse_contradictions(shared && limit, session)
    end

    # LOCK or MLOCK. A wait of nil has no end.
    def lock(owner, wait, channel: nil, explain: false)
      command = [*about_keys("LOCK"), owner, *lease_words(lease), *@words]
      command << "EXPLAIN" if explain
      if wait.nil?
        command.push("WAIT", "FOREVER")
      elsif wait.positive?
        command.push("WAIT", duration(wait))
      end
      channel ? command.push("NOTIFY", channel) : command
    end

    # RENEW or MRENEW; the reply is 1 if all keys are held.
    def renew(owner, token, lease)
      [*about_keys("RENEW"), owner, *lease_words(lease), "TOKEN", token]
    end

    # UNLOCK or MUNLOCK. Without a token, it also gives up the owner's place in the queue.
    def unlock(owner, token = nil)
      command = [*about_keys("UNLOCK"), owner]
      token ? command.push("TOKEN", token) : command
    end

    # TRANSFER; the reply is the new token, or nil.
    def transfer(owner, token, new_owner, lease)
      ["TRANSFER", keys.first, owner, new_owner, *lease_words(lease), "TOKEN", token]
    end

    private

    def refuse_contradictions(is_shared_and_limited, is_session)
      raise ArgumentError, "a lock needs at least one key" if keys.empty?
      raise ArgumentError, "a lock is either shared or has a limit, got both" if
        is_shared_and_limited
      return if lease&.positive? || (lease.nil? && is_session)

      raise ArgumentError, "lease must be greater than 0 seconds, got #{lease.inspect}"
    end

    def words(keep:, min_hold:, **values)
      times = { "KEEP" => keep, "MINHOLD" => min_hold }.compact.transform_values { duration(_1) }
      [*times, *values.compact].flatten(1)
    end

    def about_keys(command)
      keys.one? ? [command, keys.first] : ["M#{command}", keys.size, *keys]
    end

    def lease_words(seconds) = seconds ? ["PX", Terms.milliseconds(seconds)] : []

    def duration(seconds) = "#{Terms.milliseconds(seconds)}ms"
  end
end
