# frozen_string_literal: true

require "socket"

require_relative "command"

module Fairlock
  # The options of a lock, and the commands that ask for it. Times are in seconds.
  class Terms
    HOST = Socket.gethostname.freeze
    RANDOM_BYTES = 8
    # The fixed words of the commands, packed; those of a command for one key and for many.
    LOCK, UNLOCK, RENEW = %w[LOCK UNLOCK RENEW].map do |word|
      [Command.pack(word), Command.pack("M#{word}")].freeze
    end
    WAIT, FOREVER, EXPLAIN, NOTIFY, PX, TOKEN, SHARED, SESSION =
      %w[WAIT FOREVER EXPLAIN NOTIFY PX TOKEN SHARED SESSION].map { |word| Command.pack(word) }
    private_constant :HOST, :RANDOM_BYTES, :LOCK, :UNLOCK, :RENEW, :WAIT, :FOREVER, :EXPLAIN,
                     :NOTIFY, :PX, :TOKEN, :SHARED, :SESSION

    # A name for one execution: the host, the process and a random part.
    def self.make_owner
      "#{HOST}:#{Process.pid}:#{Random.urandom(RANDOM_BYTES).unpack1('H*')}"
    end

    def self.milliseconds(seconds) = [1, (seconds * 1000).ceil].max

    attr_reader :keys, :lease, :max_waiters

    def initialize(keys:, lease: 30, limit: nil, shared: false, keep: nil, min_hold: nil,
                   max_waiters: nil, meta: nil, label: nil, session: false)
      @keys = keys.map { |key| key.is_a?(String) ? key.dup.freeze : key.to_s }.freeze
      @lease = lease
      @max_waiters = max_waiters
      refuse_contradictions(shared && limit, session)
      @options = +""
      @options_size = 0
      add("LIMIT", limit)
      add("MAXWAITERS", max_waiters)
      add("META", meta)
      add("LABEL", label)
      add("KEEP", keep && duration(keep))
      add("MINHOLD", min_hold && duration(min_hold))
      add_word(SHARED) if shared
      add_word(SESSION) if session
    end

    # The keys, for messages; they may be any bytes.
    def names = @keys.map { |key| key.b.force_encoding(Encoding::UTF_8).scrub }.join(", ")

    # LOCK or MLOCK. A wait of nil has no end.
    def lock(owner, wait, channel: nil, explain: false)
      rest = "#{lease_words(@lease)}#{@options}#{EXPLAIN if explain}"
      size = (@lease ? 2 : 0) + @options_size + (explain ? 1 : 0)
      if wait.nil? || wait.positive?
        rest << WAIT << (wait ? Command.pack(duration(wait)) : FOREVER)
        size += 2
      end
      return about_keys(LOCK, owner, size, rest) unless channel

      about_keys(LOCK, owner, size + 2, "#{rest}#{NOTIFY}#{Command.pack(channel)}")
    end

    # RENEW or MRENEW; the reply is 1 if all keys are held.
    def renew(owner, token, lease)
      about_keys(RENEW, owner, lease ? 4 : 2,
                 "#{lease_words(lease)}#{TOKEN}#{Command.pack(token)}")
    end

    # UNLOCK or MUNLOCK. Without a token, it also gives up the owner's place in the queue.
    def unlock(owner, token = nil)
      return about_keys(UNLOCK, owner, 0, "") unless token

      about_keys(UNLOCK, owner, 2, "#{TOKEN}#{Command.pack(token)}")
    end

    # TRANSFER; the reply is the new token, or nil.
    def transfer(owner, token, new_owner, lease)
      ["TRANSFER", keys.first, owner, new_owner, *(["PX", Terms.milliseconds(lease)] if lease),
       "TOKEN", token]
    end

    private

    def refuse_contradictions(is_shared_and_limited, is_session)
      raise ArgumentError, "a lock needs at least one key" if keys.empty?
      raise ArgumentError, "a lock is either shared or has a limit, got both" if
        is_shared_and_limited
      return if lease&.positive? || (lease.nil? && is_session)

      raise ArgumentError, "lease must be greater than 0 seconds, got #{lease.inspect}"
    end

    def add(word, value)
      return if value.nil?

      add_word(Command.pack(word))
      add_word(Command.pack(value))
    end

    def add_word(packed)
      @options << packed
      @options_size += 1
    end

    # `rest` has this many packed words.
    def about_keys(names, owner, size, rest)
      owner = Command.pack(owner)
      if @keys.size == 1
        @packed_keys ||= Command.pack(@keys[0])
        return Command.new(size + 3, "#{names[0]}#{@packed_keys}#{owner}#{rest}")
      end
      @packed_keys ||= [@keys.size, *@keys].map { |word| Command.pack(word) }.join
      Command.new(size + @keys.size + 3, "#{names[1]}#{@packed_keys}#{owner}#{rest}")
    end

    def lease_words(seconds) = seconds && "#{PX}#{Command.pack(Terms.milliseconds(seconds))}"

    def duration(seconds) = "#{Terms.milliseconds(seconds)}ms"
  end
end
