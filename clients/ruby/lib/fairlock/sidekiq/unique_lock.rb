# frozen_string_literal: true

module Fairlock
  module Sidekiq
    # The digests of one job, and how the job locks them.
    class UniqueLock
      TYPES = %w[until_executing until_executed until_expired while_executing
                 until_and_while_executing].freeze
      # Longer than a job should wait in the queue and run; until_expired sets its own time to live.
      TTL_SECONDS = 3600
      # The server stores at most 4096 bytes of metadata.
      ARGUMENT_BYTES_MAX = 2000
      private_constant :TTL_SECONDS, :ARGUMENT_BYTES_MAX

      attr_reader :job, :type, :digest

      # Returns nil if the job is not unique.
      def self.of(job) = job["unique"] && new(job)

      def initialize(job)
        @job = job
        @type = job["unique"].to_s
        raise ArgumentError, "unique must be one of #{TYPES}, got #{@type}" unless
          TYPES.include?(@type)

        @digest = Sidekiq.digest_of(job)
      end

      def jid = job["jid"]
      def taken_when_pushed? = type != "while_executing"
      def ends_when_run_begins? = %w[until_executing until_and_while_executing].include?(type)
      def ends_when_run_ends? = type == "until_executed"
      def held_while_running? = type.end_with?("while_executing")

      def take
        Sidekiq.store.lock(digest, jid, type: type, limit: limit, ttl: ttl, meta: meta)
      end

      def release = Sidekiq.store.unlock(digest, jid)

      # Runs the block while holding the lock; if the lock is denied, returns false without calling
      # the block.
      def run(&block)
        run_digest = type == "while_executing" ? digest : "#{digest}:run"
        Sidekiq.store.hold(run_digest, jid, type: type, limit: limit, meta: meta,
                                            wait: job["unique_wait"] || 0, &block)
      end

      private

      def limit = job["unique_limit"] || 1
      def ttl = job["unique_ttl"] || TTL_SECONDS

      def meta
        arguments = JSON.generate(job["args"])
        { worker: job["class"], queue: job["queue"], limit: limit, timeout: job["unique_wait"],
          ttl: ttl, type: type, at: job["created_at"],
          args: arguments.bytesize > ARGUMENT_BYTES_MAX ? "too long" : job["args"] }
      end
    end
  end
end
