# frozen_string_literal: true

# Errors of the connection are those of the redis gem.
module Fairlock
  # The base class of the errors of this library.
  class Error < StandardError; end

  # The lock was not granted: at once, or until the wait was over.
  class Denied < Error
    # Says which owners hold the lock, and how long the wait may take.
    attr_reader :explanation

    def initialize(explanation)
      @explanation = explanation
      super(explanation.to_s)
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
    def initialize(reply)
      super("another node serves the key: use a client for clusters, such as " \
            "Redis.new(cluster: [...]), got #{reply}")
    end
  end

  # The server does not know the commands of fairlock. It may be a Redis server.
  class NotFairlock < Error; end
end
