# frozen_string_literal: true

require_relative "connections"
require_relative "failures"
require_relative "lock"
require_relative "pauses"

module Fairlock
  # Lets a block run once among identical requests, as applications do with
  # Rails.cache.write(key, true, unless_exist: true), and says which caller ran it. Times are in
  # seconds.
  class Semaphore
    def initialize(redis, namespace: "semaphore_lock")
      @redis = redis
      @namespace = namespace
    end

    # Yields :locked or :skipped, and returns the block's value. `wait` is how long to wait in the
    # queue before skipping; `limit` is how many may run at once, and also how many may start within
    # `period`. `lease` is renewed while the block runs.
    def with_lock(key, lease: 10, wait: 0, limit: nil, period: nil, **options)
      has_run = false
      Fairlock.lock(@redis, name_of(key), lease: lease, wait: wait, limit: limit,
                                          min_hold: period, **options) do
        has_run = true
        yield :locked
      end
    rescue Denied
      raise if has_run

      yield :skipped
    end

    # Waits on behalf of a caller that was skipped: returns true once the winner has ended and its
    # record can be read, or false when the time is over. Takes no lock.
    def wait_for_winner(key, seconds)
      Terms.check_duration("the time", seconds)
      give_up_at = Fairlock.now + seconds
      pauses = Pauses.new
      name = Connections.prefix_of(@redis) + name_of(key)
      begin
        left = [give_up_at - Fairlock.now, 0].max
        command = ["WAIT", name, "TIMEOUT", "#{(left * 1000).ceil}ms"]
        Connections.of(@redis).of_key(name).ask(command).reply == 1
      rescue *Failures::ALL => error
        raise Failures.translated(error, Fairlock.shown(name)) unless Failures.temporary?(error)
        raise if Fairlock.now >= give_up_at

        pauses.pause(give_up_at) unless error.is_a?(::Redis::TimeoutError)
        retry
      end
    end

    private

    def name_of(key) = "#{@namespace}:#{key}"
  end
end
