# frozen_string_literal: true

require_relative "fairlock/channel"
require_relative "fairlock/clock"
require_relative "fairlock/errors"
require_relative "fairlock/lock"
require_relative "fairlock/semaphore"
require_relative "fairlock/terms"
require_relative "fairlock/version"

# Fair locks with fencing tokens, from a fairlock server, over the redis gem.
#
#   redis = Redis.new(port: 3247)
#   Fairlock.lock(redis, "order:42", lease: 30, wait: 10) { |hold| charge(42, hold.token) }
#
# fairlock/active_job and fairlock/sidekiq are required separately.
module Fairlock
  class << self
    # Receives warnings; a Logger, or nil.
    attr_accessor :logger
  end

  # Takes a lock of one key, or of several keys that are taken together or not at all, holds it
  # during the block, and returns the block's value. Without a block, returns the Lock.
  #
  # `redis` is a Redis, also one for a cluster, or a ConnectionPool of them; the library opens
  # connections of its own with the same options. Times are in seconds.
  #
  # `wait`: nil waits without end, 0 does not wait. `lease`: how long the lock is held if it is not
  # renewed; with `renew`, it is renewed each time a third of it is left. `owner`: one execution; by
  # default, each acquisition has its own. `limit`: how many owners may hold the key at once;
  # `shared`: any number, but no exclusive one. `keep`: how long the place in the queue is kept for
  # an owner that does not ask. `min_hold`: how long the key stays taken after the grant, even if it
  # is released. `max_waiters`: do not wait if this many others do. `meta`, `label`: shown to
  # others. `channel`: waits on the connection of a Channel. `on_lost`: called once, in another
  # thread, with a Hold that is lost. `reentrant`: a thread that holds the same keys in the same
  # way gets the same hold again, without a request, and the last release ends it; all other options
  # are those of the first acquisition.
  def self.lock(redis, *keys, wait: nil, renew: true, owner: nil, channel: nil, on_lost: nil,
                reentrant: false, **terms, &block)
    lock = Lock.new(redis, Terms.new(keys: keys, **terms), wait: wait, renew: renew, owner: owner,
                                                           channel: channel, on_lost: on_lost,
                                                           reentrant: reentrant)
    block ? lock.synchronize(&block) : lock
  end
end
