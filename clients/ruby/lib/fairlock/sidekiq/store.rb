# frozen_string_literal: true

require_relative "../../fairlock"

module Fairlock
  module Sidekiq
    # The locks of unique jobs: almost every method is a single command. Times are in seconds.
    class Store
      # A digest with its holders, of which the list has only the number.
      Entry = Struct.new(:digest, :type, :holders, :waiters, :held_for, keyword_init: true)
      Holder = Struct.new(:jid, :since, :ttl, :meta, keyword_init: true)
      LIST_COUNT = 1000
      COUNTS = %w[acquired denied released expired broken].freeze
      ASK_SECONDS = 5
      HOLD_SECONDS = 30
      private_constant :LIST_COUNT, :COUNTS, :ASK_SECONDS, :HOLD_SECONDS

      def initialize(redis)
        @redis = redis
        @connections = Connections.of(redis)
      end

      # Returns true if the job holds the digest now, even if it already held it before.
      def lock(digest, jid, type:, limit:, ttl:, meta:, wait: 0)
        terms = terms_of(digest, lease: ttl, limit: limit, label: type, meta: meta)
        take(@connections.of_key(terms.first_key), terms, jid, wait)
      end

      def unlock(digest, jid) = ask("UNLOCK", digest, jid) == 1

      # Holds the digest while the block runs; returns false without calling it if the digest was
      # denied.
      def hold(digest, jid, **options)
        hold = take_hold(digest, jid, **options)
        return false if hold.nil?

        begin
          yield
        ensure
          hold.release
        end
        true
      end

      # Returns a Hold of the digest, or nil if it was denied. It is renewed, so it outlives its
      # connection, and a process that dies holds the digest for HOLD_SECONDS at most.
      def take_hold(digest, jid, type:, limit:, meta:, wait: 0)
        Fairlock.lock(@redis, digest, owner: jid, lease: HOLD_SECONDS, wait: wait, limit: limit,
                                      label: type, meta: JSON.generate(meta)).acquire
      rescue Denied
        nil
      end

      # Transfers the digest from the old job to the new one; returns false if the old one no longer
      # holds it.
      def replace(digest, old_jid, new_jid)
        !ask("TRANSFER", digest, old_jid, new_jid).nil?
      end

      # Returns the entry for a page of the UI, or nil if nobody holds the digest.
      def find(digest)
        info = Replies.map(ask("LOCKINFO", digest))
        holders = info["holders"].map { |holder| holder_of(Replies.map(holder)) }
        return if holders.empty?

        Entry.new(digest: digest, holders: holders, waiters: info["waiters"])
      end

      # Returns the digests that match a glob, optionally only those of one lock type.
      def list(pattern, type: nil)
        rows = []
        before = prefix
        words = ["MATCH", literal(before) + pattern, "COUNT", LIST_COUNT,
                 *(["LABEL", type] if type)]
        @connections.each_leader { |leader| rows.concat(rows_of(leader, words)) }
        rows.map { |row| entry_of(row, before) }.sort_by(&:digest)
      end

      # Ends all holds of the matching digests, and returns these digests. A dry run only returns
      # them.
      def delete(pattern, dry_run: false, reason: "deleted by pattern")
        digests = list(pattern).map(&:digest)
        digests.each { |digest| delete_one(digest, reason: reason) } unless dry_run
        digests
      end

      # Ends the holds of one digest; returns how many there were.
      def delete_one(digest, reason: "deleted") = ask("BREAK", digest, "REASON", reason)

      # Returns counts for each lock type, and their sum.
      def metrics(minutes: 60)
        counts = {}
        @connections.each_leader do |leader|
          labels = Replies.map(leader.ask(["STATS", "MINUTES", minutes]).reply)["labels"]
          labels.map { |row| Replies.map(row) }.each do |row|
            next unless UniqueLock::TYPES.include?(row["label"])

            counts[row["label"]] = sum(counts[row["label"]], row.slice(*COUNTS))
          end
        end
        counts.merge("total" => counts.values.reduce({}) { |total, row| sum(total, row) })
      end

      private

      def prefix = Connections.prefix_of(@redis)

      # A glob that matches only this text.
      def literal(text) = text.gsub(/[*?\[\\]/) { |character| "\\#{character}" }

      def terms_of(digest, meta:, **options)
        Terms.new(keys: [digest], meta: JSON.generate(meta), **options).with_prefix(prefix)
      end

      # Sends a request about the digest, which follows the name of the command, and repeats it
      # while the server restarts or fails over. A TRANSFER that is repeated because its reply was
      # lost returns nil.
      def ask(command, digest, *words)
        give_up_at = Fairlock.now + ASK_SECONDS
        pauses = Pauses.new
        key = prefix + digest
        begin
          @connections.of_key(key).ask([command, key, *words]).reply
        rescue *Failures::ALL => error
          raise Failures.translated(error, Fairlock.shown(digest)) unless Failures.temporary?(error)
          raise if Fairlock.now >= give_up_at

          pauses.pause(give_up_at)
          retry
        end
      end

      def take(port, terms, jid, wait)
        Acquisition.new(port, terms, jid, wait, explain: :never).run
        true
      rescue Denied
        false
      end

      def rows_of(leader, words)
        rows = []
        cursor = "0"
        loop do
          cursor, some = leader.ask(["LOCKS", cursor, *words]).reply
          rows.concat(some)
          return rows if cursor.to_s == "0"
        end
      end

      def sum(one, other) = (one || {}).merge(other) { |_, first, second| first + second }

      def entry_of(row, prefix)
        digest, holders, waiters, _wait_ms, held_ms, label = row
        Entry.new(digest: digest.byteslice(prefix.bytesize..), type: label, holders: holders,
                  waiters: waiters, held_for: held_ms / 1000.0)
      end

      def holder_of(fields)
        Holder.new(jid: fields["owner"], since: fields["since"] / 1000.0,
                   ttl: fields["ttl_ms"]&.fdiv(1000), meta: JSON.parse(fields["meta"] || "{}"))
      end
    end
  end
end
