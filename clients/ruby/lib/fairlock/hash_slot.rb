# frozen_string_literal: true

module Fairlock
  # The hash slot of a key, as in Redis Cluster.
  module HashSlot
    COUNT = 16_384
    # CRC16/XMODEM, by byte.
    REMAINDERS = Array.new(256) do |byte|
      8.times.reduce(byte << 8) { |crc, _| ((crc << 1) ^ (crc[15] * 0x1021)) & 0xffff }
    end.freeze
    private_constant :REMAINDERS

    module_function

    def of(key)
      crc = 0
      tag(key).each_byte { |byte| crc = ((crc << 8) & 0xffff) ^ REMAINDERS[(crc >> 8) ^ byte] }
      crc % COUNT
    end

    # The part of a key that determines its slot: what the first braces enclose, or all of it.
    def tag(key)
      bytes = key.b
      from = bytes.index("{")
      to = from && bytes.index("}", from + 1)
      to && to > from + 1 ? bytes[(from + 1)...to] : bytes
    end

    # A short text that has this slot. Tries 16,384 texts on average.
    def text(slot) = (0..).lazy.map { |number| number.to_s(36) }.find { |text| of(text) == slot }
  end
  private_constant :HashSlot
end
