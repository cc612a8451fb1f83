# frozen_string_literal: true

# The clock by which leases are counted.
module Fairlock
  # Unlike CLOCK_MONOTONIC, this clock also runs while the machine sleeps, as the server's does.
  CLOCK = defined?(Process::CLOCK_BOOTTIME) ? Process::CLOCK_BOOTTIME : Process::CLOCK_MONOTONIC
  private_constant :CLOCK

  # The monotonic time in seconds.
  def self.now = Process.clock_gettime(CLOCK)
end
