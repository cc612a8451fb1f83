# frozen_string_literal: true

require "redis"
require "stringio"

module Fairlock
  # A command in the form in which it is sent: an interpolated string costs a tenth of what the gem
  # needs to build one from words.
  class Command
    attr_reader :packed

    # One word of a body.
    def self.pack(word)
      word = word.to_s
      word = word.b unless word.ascii_only?
      "$#{word.bytesize}\r\n#{word}\r\n"
    end

    # `body` has this many packed words.
    def initialize(size, body)
      @packed = "*#{size}\r\n#{body}"
    end

    # The words, for a driver that packs them itself.
    def to_a
      input = StringIO.new(@packed)
      Array.new(input.gets[1..].to_i) do
        word = input.read(input.gets[1..].to_i)
        input.gets
        word
      end
    end
  end
  private_constant :Command

  # The gem's own driver, which also sends a Command.
  class Driver < ::Redis::Connection::Ruby
    def build_command(command) = command.is_a?(Command) ? command.packed : super
  end
  private_constant :Driver
end
