# Unique jobs on fairlock: almost every method is a single command.

require "json"

require_relative "../ruby/fairlock"

class FairlockStore
  # A digest and its holders.
  Entry = Struct.new(:digest, :type, :holders, :since, keyword_init: true)
  Holder = Struct.new(:jid, :since, :ttl_ms, :meta, keyword_init: true)

  def initialize(fairlock)
    @fairlock = fairlock
  end

  # Returns true if the job holds the digest now, even if it already held it before.
  def lock(digest, jid, type:, limit:, ttl_ms:, meta:, wait_ms: nil)
    !@fairlock.lock(digest, jid, px: ttl_ms, limit: limit, wait: wait_ms,
                    label: type, meta: JSON.generate(meta)).nil?
  end

  def unlock(digest, jid, type: nil) = @fairlock.unlock(digest, jid)

  # Holds the digest while the block runs, but never longer than this process lives: a hold without
  # a lease ends with its session and leaves nothing to clean up. Returns false without calling the
  # block if the digest was denied.
  def hold(digest, jid, type:, limit:, meta:, ttl_ms: nil, wait_ms: nil)
    @fairlock.on_one_connection do
      token = @fairlock.lock(digest, jid, px: ttl_ms, limit: limit, wait: wait_ms, session: true,
                             label: type, meta: JSON.generate(meta))
      return false if token.nil?

      begin
        yield
      ensure
        @fairlock.unlock(digest, jid)
      end
      true
    end
  end

  # Transfers the digest from the old job to the new one; returns false if the old one no longer
  # holds it.
  def replace(digest, old_jid, new_jid)
    !@fairlock.call("TRANSFER", digest, old_jid, new_jid).nil?
  end

  # Returns the entry for a page of the UI, or nil if nobody holds the digest.
  def find(digest)
    holders = @fairlock.info(digest)["holders"].map do |holder|
      Holder.new(jid: holder["owner"], since: holder["since"], ttl_ms: holder["ttl_ms"],
                 meta: JSON.parse(holder["meta"]))
    end
    holders.empty? ? nil : Entry.new(digest: digest, holders: holders)
  end

  # Returns the digests that match a glob, optionally only those of one lock type.
  def list(pattern, type: nil)
    entries = []
    cursor = "0"
    loop do
      cursor, rows = @fairlock.call("LOCKS", cursor, "MATCH", pattern, "COUNT", 1000,
                                    *(["LABEL", type] if type))
      rows.each do |key, holders, _waiters, _wait_ms, held_ms, label|
        entries << Entry.new(digest: key, type: label, holders: holders, since: held_ms)
      end
      return entries.sort_by(&:digest) if cursor.to_s == "0"
    end
  end

  # Ends all holds of the matching digests, and returns these digests. A dry run only returns them.
  def delete(pattern, dry_run: false, reason: "deleted by pattern")
    digests = list(pattern).map(&:digest)
    digests.each { |digest| @fairlock.call("BREAK", digest, "REASON", reason) } unless dry_run
    digests
  end

  # Returns the data of the "Locks" page: a row for each lock type, and their sum.
  def metrics(minutes: 60)
    stats = @fairlock.call("STATS", "MINUTES", minutes).each_slice(2).to_h
    rows = stats["labels"].map { |row| row.each_slice(2).to_h }.select { |row| row["label"] }
    counts = rows.to_h do |row|
      [row["label"], row.slice("acquired", "denied", "released", "expired", "broken")]
    end
    total = counts.values.reduce({}) { |sum, row| sum.merge(row) { |_, a, b| a + b } }
    counts.merge("total" => total)
  end
end
