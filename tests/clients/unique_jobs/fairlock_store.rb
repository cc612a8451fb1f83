# Unique jobs on fairlock: every method is one command.

require "json"

require_relative "../ruby/fairlock"

class FairlockStore
  # One digest and who holds it.
  Entry = Struct.new(:digest, :type, :holders, :since, keyword_init: true)
  Holder = Struct.new(:jid, :since, :ttl_ms, :meta, keyword_init: true)

  def initialize(fairlock)
    @fairlock = fairlock
  end

  # True if the job holds the digest now, also if it did before.
  def lock(digest, jid, type:, limit:, ttl_ms:, meta:, wait_ms: nil)
    !@fairlock.lock(digest, jid, px: ttl_ms, limit: limit, wait: wait_ms,
                    label: type, meta: JSON.generate(meta)).nil?
  end

  def unlock(digest, jid, type: nil) = @fairlock.unlock(digest, jid)

  # Holds the digest while the block runs, and no longer than this process lives: no lease to
  # outlive, nothing to reap. False, and no block, when it was not to be had.
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

  # The new job in the place of one that holds the digest; false if that one has gone meanwhile.
  def replace(digest, old_jid, new_jid)
    !@fairlock.call("TRANSFER", digest, old_jid, new_jid).nil?
  end

  # A page's entry, or nil when nobody holds it.
  def find(digest)
    holders = @fairlock.info(digest)["holders"].map do |holder|
      Holder.new(jid: holder["owner"], since: holder["since"], ttl_ms: holder["ttl_ms"],
                 meta: JSON.parse(holder["meta"]))
    end
    holders.empty? ? nil : Entry.new(digest: digest, holders: holders)
  end

  # The digests that match a glob, of one lock type if given.
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

  # Ends all holds of the digests that match, and says which those are. A dry run only says it.
  def delete(pattern, dry_run: false, reason: "deleted by pattern")
    digests = list(pattern).map(&:digest)
    digests.each { |digest| @fairlock.call("BREAK", digest, "REASON", reason) } unless dry_run
    digests
  end

  # What the "Locks" page shows: a row for each lock type, and their sum.
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
