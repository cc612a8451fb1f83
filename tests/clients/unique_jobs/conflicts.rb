# What happens to a job whose digest is held by others: what its worker class has chosen.

require "json"
require "sidekiq"
require "sidekiq/api"

module UniqueJobs
  # The strategy `raise`.
  class Conflict < StandardError; end

  # Every strategy answers whether the job has its lock now and goes on.
  module Conflicts
    DEFAULTS = { client: "log", server: "reschedule" }.freeze
    RESCHEDULE_S = 5

    module_function

    # on_conflict is one strategy for both sides (:client, :server), or a hash of them.
    def resolve(lock, side)
      chosen = lock.job["on_conflict"]
      chosen = chosen.transform_keys(&:to_sym)[side] if chosen.is_a?(Hash)
      case (chosen || DEFAULTS[side]).to_s
      when "log" then log(lock)
      when "raise" then raise Conflict, "#{lock.digest} is held; job #{lock.jid} is refused"
      when "reject" then reject(lock)
      when "replace" then replace(lock)
      when "reschedule" then reschedule(lock)
      else raise ArgumentError, "on_conflict: there is no #{chosen}"
      end
    end

    def log(lock)
      Sidekiq.logger.warn("#{lock.digest} is held; job #{lock.jid} is dropped")
      false
    end

    # To the dead jobs, where somebody can look at it.
    def reject(lock)
      Sidekiq::DeadSet.new.kill(JSON.generate(lock.job), notify_failure: false)
      false
    end

    # The newer job gets the lock of one that waits to run, in one command: nobody comes between.
    def replace(lock)
      entry = UniqueJobs.store.find(lock.digest)
      return lock.take if entry.nil?

      oldest = entry.holders.min_by(&:since).jid
      return log(lock) unless forget(oldest, lock.job["queue"])

      UniqueJobs.store.replace(lock.digest, oldest, lock.jid) || lock.take
    end

    # True if the job was waiting somewhere, and is not any more.
    def forget(jid, queue)
      places = [Sidekiq::Queue.new(queue), Sidekiq::ScheduledSet.new, Sidekiq::RetrySet.new]
      places.any? { |place| place.find_job(jid)&.delete }
    end

    # The same job, later. Not by Sidekiq's client, whose middleware would ask for the lock again.
    def reschedule(lock)
      later = Time.now.to_f + (lock.job["reschedule_s"] || RESCHEDULE_S)
      payload = JSON.generate(lock.job.except("at", "enqueued_at"))
      Sidekiq.redis { |redis| redis.zadd("schedule", later.to_s, payload) }
      false
    end
  end
end
