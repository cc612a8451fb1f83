# frozen_string_literal: true

require_relative "clock"

module Fairlock
  # Calls each Holding when its renewal, or the end of its lease, is due. One thread serves all of
  # the process; it must not block, so they send their requests in threads of their own.
  class Renewals
    # The clock of a condition variable stands still while the machine sleeps.
    WAIT_SECONDS_MAX = 60
    CREATION = Mutex.new
    private_constant :WAIT_SECONDS_MAX, :CREATION

    # A forked child has its own.
    def self.of_this_process
      current = @current
      return current if current&.of_this_process?

      CREATION.synchronize do
        @current = new unless @current&.of_this_process?
        @current
      end
    end

    def initialize
      @process = Process.pid
      @times = {}.compare_by_identity
      @mutex = Mutex.new
      @change = ConditionVariable.new
      # Does not keep the process alive, so the leases end with the process.
      Thread.new { run }.name = "fairlock-renewals"
    end

    def of_this_process? = @process == Process.pid

    # Calls hold.fall_due at that time, once. Replaces an earlier call.
    def watch(hold, time)
      @mutex.synchronize do
        @times[hold] = time
        @change.signal if @wakes_at.nil? || time < @wakes_at
      end
    end

    def forget(hold) = @mutex.synchronize { @times.delete(hold) }

    private

    def run
      loop { next_due.each(&:fall_due) }
    end

    def next_due
      @mutex.synchronize do
        loop do
          @wakes_at = @times.values.min
          due = @times.select { |_, time| time <= Fairlock.now }.keys
          due.each { |hold| @times.delete(hold) }
          return due if due.any?

          left = @wakes_at && [@wakes_at - Fairlock.now, WAIT_SECONDS_MAX].min
          @change.wait(@mutex, left && [left, 0.001].max)
        end
      end
    end
  end
  private_constant :Renewals
end
