# Makes Sidekiq jobs unique, as specified by the worker class's sidekiq_options. One middleware runs
# where jobs are pushed, another one where they are executed.
#
#   sidekiq_options unique: :until_executed, unique_limit: 2, unique_ttl_ms: 60_000,
#                   unique_wait_ms: 5_000, on_conflict: {client: :log, server: :reschedule}

require "digest"
require "json"
require "sidekiq"
require "sidekiq/api"

require_relative "conflicts"

module UniqueJobs
  class << self
    # A FairlockStore, or another object with the same methods.
    attr_accessor :store

    # Must be called once by each process that pushes or runs jobs.
    def install
      Sidekiq.client_middleware.add(ClientMiddleware)
      Sidekiq.server_middleware.add(ServerMiddleware)
      Sidekiq.death_handlers << ->(job, _error) { Lock.of(job)&.release }
    end
  end

  # The digest starts with the name of the class, so that digests can be searched by pattern.
  def self.digest_of(job)
    content = JSON.generate([job["class"], job["queue"], job["args"]])
    "unique:#{job['class']}:#{Digest::SHA256.hexdigest(content)[0, 32]}"
  end

  # The digests of one job, and how the job locks them.
  class Lock
    TYPES = %w[until_executing until_executed until_expired while_executing
               until_and_while_executing].freeze
    # Longer than a job should wait in the queue and run; until_expired sets its own time to live.
    TTL_MS = 3_600_000
    # The server stores at most 4096 bytes of metadata.
    ARGUMENT_BYTES_MAX = 2000

    attr_reader :job, :type, :digest

    # Returns nil if the job is not unique.
    def self.of(job) = job["unique"] && new(job)

    def initialize(job)
      @job = job
      @type = job["unique"].to_s
      raise ArgumentError, "unique: #{@type} is none of #{TYPES}" unless TYPES.include?(@type)

      @digest = UniqueJobs.digest_of(job)
    end

    def jid = job["jid"]
    def taken_when_pushed? = type != "while_executing"
    def ends_when_run_begins? = %w[until_executing until_and_while_executing].include?(type)
    def ends_when_run_ends? = type == "until_executed"
    def held_while_running? = type.end_with?("while_executing")

    def take
      UniqueJobs.store.lock(digest, jid, type: type, limit: limit, ttl_ms: ttl_ms, meta: meta)
    end

    def release = UniqueJobs.store.unlock(digest, jid, type: type)

    # Runs the block while holding the lock; if the lock is denied, returns false without calling
    # the block.
    def run(&block)
      run_digest = type == "while_executing" ? digest : "#{digest}:run"
      UniqueJobs.store.hold(run_digest, jid, type: type, limit: limit, meta: meta,
                            wait_ms: job["unique_wait_ms"], &block)
    end

    private

    def limit = job["unique_limit"] || 1
    def ttl_ms = job["unique_ttl_ms"] || TTL_MS

    def meta
      arguments = JSON.generate(job["args"])
      { worker: job["class"], queue: job["queue"], limit: limit, timeout: job["unique_wait_ms"],
        ttl: ttl_ms, type: type, at: job["created_at"],
        args: arguments.bytesize > ARGUMENT_BYTES_MAX ? "too long" : job["args"] }
    end
  end

  # Runs where jobs are pushed. A scheduled job passes through here a second time, when it already
  # has its lock.
  class ClientMiddleware
    def call(_worker_class, job, _queue, _redis_pool)
      lock = Lock.of(job)
      return yield if lock.nil? || !lock.taken_when_pushed? || retried_without_lock?(lock)
      return yield if lock.take || Conflicts.resolve(lock, :client)

      nil
    end

    private

    # The job released its lock when it first ran, and must not be dropped when it is retried.
    def retried_without_lock?(lock) = lock.ends_when_run_begins? && lock.job.key?("retry_count")
  end

  # Runs where jobs are executed.
  class ServerMiddleware
    def call(_worker, job, _queue, &block)
      lock = Lock.of(job)
      return yield if lock.nil?

      lock.release if lock.ends_when_run_begins?
      return lock.run(&block) || Conflicts.resolve(lock, :server) if lock.held_while_running?
      return yield unless lock.ends_when_run_ends?

      run_and_release(lock, &block)
    end

    private

    # If the lease ended while the job was in the queue, another job may have the lock now.
    def run_and_release(lock)
      return unless lock.take || Conflicts.resolve(lock, :server)

      yield
      # After a failure, this is not reached: the job is retried, and releases the lock when it is
      # dead.
      lock.release
    end
  end
end
