# frozen_string_literal: true

module Fairlock
  module Sidekiq
    # What happens to a job whose digest is already held: a worker class can choose one of these
    # strategies. Each returns whether the job now has its lock and may proceed.
    module Conflicts
      DEFAULTS = { client: "log", server: "reschedule" }.freeze
      RESCHEDULE_SECONDS = 5

      module_function

      # on_conflict is one strategy for both sides (:client, :server), or a hash with one for each.
      def resolve(lock, side)
        chosen = lock.job["on_conflict"]
        chosen = chosen.transform_keys(&:to_sym)[side] if chosen.is_a?(Hash)
        chosen = (chosen || DEFAULTS[side]).to_s
        case chosen
        when "raise" then raise Conflict, "#{lock.digest} is held; job #{lock.jid} is refused"
        when "log", "reject", "replace", "reschedule" then send(chosen, lock)
        else
          raise ArgumentError, "on_conflict must be log, raise, reject, replace or reschedule, " \
                               "got #{chosen}"
        end
      end

      def log(lock)
        ::Sidekiq.logger.warn("#{lock.digest} is held; job #{lock.jid} is dropped")
        false
      end

      # Moves the job to Sidekiq's dead jobs, where a person can inspect it.
      def reject(lock)
        ::Sidekiq::DeadSet.new.kill(JSON.generate(lock.job), notify_failure: false)
        false
      end

      # Transfers the lock of a job that has not started yet to the newer job. This is one command,
      # so that no other job can take the lock in between.
      def replace(lock)
        entry = Sidekiq.store.find(lock.digest)
        return lock.take if entry.nil?

        oldest = entry.holders.min_by(&:since).jid
        return log(lock) unless forget(oldest, lock.job["queue"])

        Sidekiq.store.replace(lock.digest, oldest, lock.jid) || lock.take
      end

      # Returns true if the job was waiting in one of these places and has been removed.
      def forget(jid, queue)
        places = [::Sidekiq::Queue.new(queue), ::Sidekiq::ScheduledSet.new,
                  ::Sidekiq::RetrySet.new]
        places.any? { |place| place.find_job(jid)&.delete }
      end

      # Runs the same job later. Bypasses Sidekiq's client, whose middleware would request the lock
      # again.
      def reschedule(lock)
        later = Time.now.to_f + (lock.job["reschedule_in"] || RESCHEDULE_SECONDS)
        payload = JSON.generate(lock.job.except("at", "enqueued_at"))
        ::Sidekiq.redis { |redis| redis.zadd("schedule", later.to_s, payload) }
        false
      end
    end
  end
end
