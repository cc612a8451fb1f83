# Waits in a test until another thread or process has had an effect.

require "minitest"

module Eventually
  LIMIT_S = 20

  # Calls the block until it returns a true value, and returns that value; fails after limit_s.
  def eventually(what, limit_s: LIMIT_S)
    give_up = Process.clock_gettime(Process::CLOCK_MONOTONIC) + limit_s
    loop do
      found = yield
      return found if found

      flunk("not within #{limit_s} s: #{what}") if
        Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up
      sleep 0.01
    end
  end
end
