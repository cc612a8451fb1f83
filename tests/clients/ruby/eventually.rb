# For tests: waits for what another thread or process brings about.

require "minitest"

module Eventually
  LIMIT_S = 20

  # The first true value of the block, which is asked again and again; fails if there is none.
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
