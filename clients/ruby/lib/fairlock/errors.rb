# frozen_string_literal: true

# Errors of the connection are those of the redis gem.
module Fairlock
  # The base class of the errors of this library.
  class Error < StandardError; end

  # The lock was not granted: at once, or until the wait was over.
  class Denied < Error
    # Says which owners hold the lock, and how long the wait may take.
    attr_reader :explanation

    # `names` are the keys, for people. `wait` is how long the wait has lasted at most, in seconds.
    def initialize(explanation, names = nil, wait = nil)
      @explanation = explanation
      super(names ? text(names, wait) : explanation.to_s)
    end

    private

    # For example: order:42 not granted in 10 s: held by worker-2 for 3.0 s; 2 waiting.
    def text(names, wait)
      why = explanation
      parts = [holders || why.reason,
               ("#{why.waiters} waiting" if why.waiters.to_i.positive?),
               ("position #{why.position}" if why.position),
               (format("about %.1f s", why.eta) if why.eta)].compact
      time = " in #{wait} s" if wait.to_f.positive?
      which = " (#{Fairlock.shown(why.key)})" if why.key && names != Fairlock.shown(why.key)
      "#{names} not granted#{time}: #{parts.join('; ')}#{which}"
    end

    def holders
      return if explanation.holders.empty?

      some = explanation.holders.map do |holder|
        format("%<owner>s for %<seconds>.1f s", owner: Fairlock.shown(holder.owner),
                                                seconds: holder.held_for)
      end
      "held by #{some.join(', ')}"
    end
  end

  # The lock is not held any more, or this process can no longer be sure that it is.
  class LostHold < Error; end

  # Another request ended the wait: CANCEL, CLIENT UNBLOCK, or a newer request of this owner.
  class WaitEnded < Error; end

  # The wait would never end. The text names the owners that wait for each other.
  class Deadlock < Error; end

  # The server belongs to a fleet of several partitions, which needs a client for clusters.
  class NeedsCluster < Error
    def initialize(reply, names)
      super("#{names}: another node serves the key: use a client for clusters, such as " \
            "Redis.new(cluster: [...]), got #{reply}")
    end
  end

  # The server does not know the commands of fairlock. It may be a Redis server.
  class NotFairlock < Error; end
end
