# frozen_string_literal: true

module Fairlock
  VERSION = "0.1.0"
end
