# frozen_string_literal: true

require_relative "failures"

module Fairlock
  # What happens to jobs while the lock server cannot be reached: :raise raises the error of the
  # connection, and :run does without the lock.
  module Outages
    module_function

    # Raises ArgumentError for anything else.
    def checked(choice)
      return choice.to_sym if %w[raise run].include?(choice.to_s)

      raise ArgumentError, "on_outage must be :raise or :run, got #{choice.inspect}"
    end

    # Whether to do without the lock after this error.
    def survived?(choice, error) = checked(choice) == :run && Failures.temporary?(error)
  end
  private_constant :Outages
end
