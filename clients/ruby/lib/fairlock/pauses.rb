# frozen_string_literal: true

module Fairlock
  # Growing pauses between attempts. Clients that lost one server do not return all at once.
  class Pauses
    SECONDS = (0.05..1.0)

    def initialize = @seconds = SECONDS.min

    # Sleeps, but not longer than until that time.
    def pause(end_at = nil)
      seconds = @seconds * rand(0.5..1.0)
      seconds = [seconds, [end_at - Fairlock.now, 0].max].min if end_at
      @seconds = [2 * @seconds, SECONDS.max].min
      sleep(seconds)
    end
  end
  private_constant :Pauses
end
