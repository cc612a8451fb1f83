# frozen_string_literal: true

require "socket"

require_relative "explanation"

module Fairlock
  # The options of a lock, and the commands that ask for it. Times are in seconds.
  class Terms
    SECONDS_MAX = 365 * 24 * 3600
    HOST = Socket.gethostname.freeze
    RANDOM_BYTES = 8
    private_constant :HOST, :RANDOM_BYTES

    # A name for one execution: the host, the process and a random part.
    def self.make_owner
      "#{HOST}:#{Process.pid}:#{Random.urandom(RANDOM_BYTES).unpack1('H*')}"
    end

    # Raises ArgumentError unless it is a number of seconds that the server accepts.
    def self.check_duration(name, seconds, may_be_zero: true)
      is_number = seconds.is_a?(Numeric) && seconds.real?
      return if is_number && (may_be_zero ? seconds >= 0 : seconds.positive?) &&
                seconds <= SECONDS_MAX

      least = may_be_zero ? "from 0" : "greater than 0 and up"
      raise ArgumentError, "#{name} must be a number of seconds, #{least} to #{SECONDS_MAX}, " \
                           "got #{seconds.inspect}"
    end

    def self.milliseconds(seconds) = [1, (seconds * 1000).ceil].max

    attr_reader :keys, :lease, :max_waiters
    # :exclusive, :shared or the limit.
    attr_reader :mode
    # The keys with the prefix of the client, as the server knows them.
    attr_reader :keys_on_server

    def initialize(keys:, lease: 30, limit: nil, shared: false, keep: nil, min_hold: nil,
                   max_waiters: nil, meta: nil, label: nil)
      @keys = keys.map { |key| key.is_a?(String) ? key.dup.freeze : key.to_s }.freeze
      @prefix = ""
      @keys_on_server = @keys
      @lease = lease
      @max_waiters = max_waiters
      @mode = shared ? :shared : limit || :exclusive
      @words = []
      add("LIMIT", limit)
      add("MAXWAITERS", max_waiters)
      add("META", meta)
      add("LABEL", label)
      check_durations(keep, min_hold)
      add("KEEP", keep && duration(keep))
      add("MINHOLD", min_hold && duration(min_hold))
      @words << "SHARED" if shared
      refuse_contradictions(shared && limit)
    end

    # The same terms for a client that puts a prefix before keys.
    def with_prefix(prefix)
      prefix.empty? ? self : dup.tap { |terms| terms.prefix = prefix }
    end

    # All keys must have its hash slot, if there are several partitions.
    def first_key = @keys_on_server.first

    # Reads the reply to LOCK or MLOCK with EXPLAIN.
    def explanation(reply)
      found = Explanation.parse(reply)
      found.key = found.key&.byteslice(@prefix.bytesize..)
      found
    end

    # The keys, for a message. They may have different encodings.
    def names = @keys.map { |key| Fairlock.shown(key) }.join(", ")

    # LOCK or MLOCK. A wait of nil has no end.
    def lock(owner, wait, channel: nil, explain: false)
      command = about_keys("LOCK") << owner
      command.push("PX", Terms.milliseconds(@lease), *@words)
      command << "EXPLAIN" if explain
      if wait.nil?
        command.push("WAIT", "FOREVER")
      elsif wait.positive?
        command.push("WAIT", duration(wait))
      end
      channel ? command.push("NOTIFY", channel) : command
    end

    # RENEW or MRENEW; the reply is 1 if all keys are held. With GT, it never shortens a lease, even
    # if it arrives after a newer one.
    def renew(owner, token, lease)
      [*about_keys("RENEW"), owner, "PX", Terms.milliseconds(lease), "TOKEN", token, "GT"]
    end

    # UNLOCK or MUNLOCK. Without a token, it also gives up the owner's place in the queue.
    def unlock(owner, token = nil)
      command = about_keys("UNLOCK") << owner
      token ? command.push("TOKEN", token) : command
    end

    # TRANSFER; the reply is the new token, or nil.
    def transfer(owner, token, new_owner, lease)
      ["TRANSFER", first_key, owner, new_owner, "PX", Terms.milliseconds(lease), "TOKEN", token]
    end

    # LOCKINFO; the reply names the holders.
    def lock_info = ["LOCKINFO", first_key]

    protected

    def prefix=(prefix)
      @prefix = prefix
      @keys_on_server = keys.map { |key| prefix.b << key.b }
    end

    private

    def refuse_contradictions(is_shared_and_limited)
      raise ArgumentError, "a lock needs at least one key" if keys.empty?
      raise ArgumentError, "a lock is either shared or has a limit, got both" if
        is_shared_and_limited

      Terms.check_duration("lease", lease, may_be_zero: false)
    end

    def check_durations(keep, min_hold)
      Terms.check_duration("keep", keep) unless keep.nil?
      Terms.check_duration("min_hold", min_hold) unless min_hold.nil?
    end

    def add(word, value)
      @words.push(word, value) unless value.nil?
    end

    def about_keys(command)
      return [command, first_key] if @keys.one?

      ["M#{command}", @keys.size, *@keys_on_server]
    end

    def duration(seconds) = "#{Terms.milliseconds(seconds)}ms"
  end
end
