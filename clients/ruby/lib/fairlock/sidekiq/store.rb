# frozen_string_literal: true

require_relative "../../fairlock"

module Fairlock
  module Sidekiq
    # The locks of unique jobs: almost every method is a single command. Times are in seconds.
    class Store
      # A digest: its holders on its own page, and their number in a list.
      Entry = Struct.new(:digest, :type, :holders, :waiters, :held_for, keyword_init: true)
      Holder = Struct.new(:jid, :since, :ttl, :meta, keyword_init: true)
      LIST_COUNT = 1000
      private_constant :LIST_COUNT

      def initialize(redis)
        @connections = Connections.of(redis)
      end

      # Returns true if the job holds the digest now, even if it already held it before.
      def lock(digest, jid, type:, limit:, ttl:, meta:, wait: 0)
        terms = Terms.new(keys: [digest], lease: ttl, limit: limit, label: type,
                          meta: JSON.generate(meta))
        Acquisition.new(@connections, terms, jid, wait, explain: false).run
        true
      rescue Denied
        false
      end

      def unlock(digest, jid) = call("UNLOCK", digest, jid) == 1

      # Holds the digest while the block runs, but never longer than this process lives: a hold
      # without a lease ends with its session and leaves nothing to clean up. Returns false without
      # calling the block if the digest was denied.
      def hold(digest, jid, type:, limit:, meta:, wait: 0, &block)
        terms = Terms.new(keys: [digest], lease: nil, session: true, limit: limit, label: type,
                          meta: JSON.generate(meta))
        @connections.lend { |connection| Session.new(connection).hold(terms, jid, wait, &block) }
      end

      # Transfers the digest from the old job to the new one; returns false if the old one no longer
      # holds it.
      def replace(digest, old_jid, new_jid)
        !call("TRANSFER", digest, old_jid, new_jid).nil?
      end

      # Returns the entry for a page of the UI, or nil if nobody holds the digest.
      def find(digest)
        info = Replies.map(call("LOCKINFO", digest))
        holders = info["holders"].map { |holder| holder_of(Replies.map(holder)) }
        return if holders.empty?

        Entry.new(digest: digest, holders: holders, waiters: info["waiters"])
      end

      # Returns the digests that match a glob, optionally only those of one lock type.
      def list(pattern, type: nil)
        entries = []
        cursor = "0"
        loop do
          cursor, rows = call("LOCKS", cursor, "MATCH", pattern, "COUNT", LIST_COUNT,
                              *(["LABEL", type] if type))
          entries.concat(rows.map { |row| entry_of(row) })
          return entries.sort_by(&:digest) if cursor.to_s == "0"
        end
      end

      # Ends all holds of the matching digests, and returns these digests. A dry run only returns
      # them.
      def delete(pattern, dry_run: false, reason: "deleted by pattern")
        digests = list(pattern).map(&:digest)
        digests.each { |digest| delete_one(digest, reason: reason) } unless dry_run
        digests
      end

      # Ends the holds of one digest; returns how many there were.
      def delete_one(digest, reason: "deleted") = call("BREAK", digest, "REASON", reason)

      # Returns counts for each lock type, and their sum.
      def metrics(minutes: 60)
        labels = Replies.map(call("STATS", "MINUTES", minutes))["labels"]
        rows = labels.map { |row| Replies.map(row) }
                     .select { |row| UniqueLock::TYPES.include?(row["label"]) }
        counts = rows.to_h do |row|
          [row["label"], row.slice("acquired", "denied", "released", "expired", "broken")]
        end
        total = counts.values.reduce({}) { |sum, row| sum.merge(row) { |_, a, b| a + b } }
        counts.merge("total" => total)
      end

      private

      def call(*command) = @connections.ask(command).reply

      def entry_of(row)
        digest, holders, waiters, _wait_ms, held_ms, label = row
        Entry.new(digest: digest, type: label, holders: holders, waiters: waiters,
                  held_for: held_ms / 1000.0)
      end

      def holder_of(fields)
        Holder.new(jid: fields["owner"], since: fields["since"] / 1000.0,
                   ttl: fields["ttl_ms"]&.fdiv(1000), meta: JSON.parse(fields["meta"] || "{}"))
      end
    end

    # A connection that nobody else uses meanwhile. Its end releases what was taken over it.
    class Session
      def initialize(connection)
        @connection = connection
      end

      # For Acquisition.
      def ask(command)
        sent_at = Fairlock.now
        Answer.new(@connection.without_reconnect { @connection.call(*command) }, sent_at)
      end

      # Returns whether the lock was granted and the block has run.
      def hold(terms, owner, wait)
        return false unless take(terms, owner, wait)

        begin
          yield
        ensure
          ask(terms.unlock(owner))
        end
        true
      end

      private

      def take(terms, owner, wait)
        Acquisition.new(self, terms, owner, wait, explain: false).run
      rescue Denied
        nil
      end
    end
    private_constant :Session
  end
end
