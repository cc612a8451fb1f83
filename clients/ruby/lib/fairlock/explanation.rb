# frozen_string_literal: true

# The texts of this library.
module Fairlock
  # A key or an owner for people, in which bytes that are not text or not printable become escapes.
  def self.shown(name)
    text = name.to_s.b.force_encoding(Encoding::UTF_8)
    text = text.scrub { |bytes| bytes.bytes.map { |byte| format("\\x%02x", byte) }.join }
    text.gsub(/[^[:print:]]/) { |character| character.dump[1..-2] }
  end

  # Reads maps, which are flat lists in RESP 2 and hashes in RESP 3.
  module Replies
    def self.map(reply) = reply.is_a?(Hash) ? reply : reply.each_slice(2).to_h
  end
  private_constant :Replies

  # One of the owners that hold a key. Times are in seconds; `ttl` is nil if the lease has no end,
  # and `mode` is "exclusive", "shared" or "semaphore".
  Holder = Struct.new(:owner, :token, :meta, :label, :held_for, :ttl, :mode, keyword_init: true) do
    def self.parse(reply)
      fields = Replies.map(reply)
      new(**fields.slice("owner", "token", "meta", "label", "mode").transform_keys(&:to_sym),
          held_for: fields["held_ms"] / 1000.0, ttl: fields["ttl_ms"]&.fdiv(1000))
    end
  end

  # Why a lock was granted or denied. Times are in seconds.
  #
  # `status` is "granted", "already", "queued", "denied" or "timeout". `reason` is "held", "shared",
  # "line", "reserved", "cooling", "full", "drained", "starting", or nil. `ttl` is the time until
  # the lease of this owner's hold, or the lease that ends first, is over. `position` is the place
  # in the queue; 1 is next. `eta` is the estimated time until the lock is granted. `holders` has at
  # most 16. `key` is the first of several keys that could not be obtained.
  Explanation = Struct.new(:status, :reason, :token, :ttl, :position, :waiters, :eta, :holders,
                           :key, keyword_init: true) do
    def self.parse(reply)
      fields = Replies.map(reply)
      same = %w[status reason token position waiters key]
      new(**fields.slice(*same).transform_keys(&:to_sym),
          ttl: fields["ttl_ms"]&.fdiv(1000), eta: fields["eta_ms"]&.fdiv(1000),
          holders: fields["holders"].map { |holder| Holder.parse(holder) })
    end

    def to_s
      parts = [key ? "#{Fairlock.shown(key)}: #{status}" : status, reason]
      parts << "held by #{holders.map { |one| Fairlock.shown(one.owner) }.join(', ')}" if
        holders.any?
      parts << "position #{position}" if position
      parts << format("about %.1f s", eta) if eta
      parts.compact.join(", ")
    end
  end
end
