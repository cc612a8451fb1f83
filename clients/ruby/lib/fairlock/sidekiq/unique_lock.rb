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

      # Whether the job has its lock now. During an outage, it may run without it.
      def take
        despite_outage(true) do
          Sidekiq.store.lock(digest, jid, type: type, limit: limit, ttl: ttl, meta: meta)
        end
      end

      def release = despite_outage(false) { Sidekiq.store.unlock(digest, jid) }

      # Runs the block while holding the lock; if the lock is denied, returns false without calling
      # the block.
      def run
        run_digest = type == "while_executing" ? digest : "#{digest}:run"
        hold = despite_outage(:none) do
          Sidekiq.store.take_hold(run_digest, jid, type: type, limit: limit, meta: meta,
                                                   wait: job["unique_wait"] || 0)
        end
        return false if hold.nil?

        begin
          yield
        ensure
          release_after_run(hold) unless hold == :none
        end
        true
      end

      private

      def despite_outage(result)
        yield
      rescue *Failures::ALL => error
        choice = job["unique_on_outage"] || Sidekiq.on_outage || :raise
        raise unless Outages.survived?(choice, error)

        ::Sidekiq.logger.warn("#{digest}: job #{jid} does without its lock: #{error.message}")
        result
      end

      # A lock that was lost, or could not be released, must not make Sidekiq run finished work
      # again.
      def release_after_run(hold)
        return if hold.release

        ::Sidekiq.logger.warn("#{digest}: the lock of job #{jid} was lost while it ran")
      end

      def limit = job["unique_limit"] || 1

      # The time to live counts from the time for which the job is scheduled.
      def ttl
        seconds = job["unique_ttl"] || TTL_SECONDS
        Terms.check_duration("unique_ttl", seconds, may_be_zero: false)
        delay = job["at"] ? [job["at"].to_f - Time.now.to_f, 0].max : 0
        [seconds + delay, Terms::SECONDS_MAX].min
      end

      # In seconds; from version 8 on, Sidekiq's times are whole milliseconds.
      def created_at
        time = job["created_at"]
        time.is_a?(Integer) ? time / 1000.0 : time
      end

      def meta
        arguments = JSON.generate(job["args"])
        { worker: job["class"], queue: job["queue"], limit: limit, timeout: job["unique_wait"],
          ttl: ttl, type: type, at: created_at,
          args: arguments.bytesize > ARGUMENT_BYTES_MAX ? "too long" : job["args"] }
      end
    end
  end
end
