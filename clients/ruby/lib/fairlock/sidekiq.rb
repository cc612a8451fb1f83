# frozen_string_literal: true

require "digest"
require "json"
require "sidekiq"
require "sidekiq/api"

require_relative "outages"
require_relative "sidekiq/middleware"
require_relative "sidekiq/store"
require_relative "sidekiq/unique_lock"

module Fairlock
  # Makes Sidekiq jobs unique, as the options of their classes say. Times are in seconds.
  #
  #   Fairlock::Sidekiq.install(Redis.new(port: 3247))
  #
  #   sidekiq_options unique: :until_executed, unique_limit: 2, unique_ttl: 600, unique_wait: 5,
  #                   on_conflict: { client: :log, server: :reschedule }, reschedule_in: 5
  #
  # fairlock/sidekiq/web adds a page to Sidekiq's web interface.
  module Sidekiq
    # Raised by the conflict strategy `raise`.
    class Conflict < Error; end

    class << self
      # The locks of the jobs.
      attr_accessor :store
      # What happens to jobs while the lock server cannot be reached: see install.
      attr_reader :on_outage

      # Must be called once by each process that pushes or runs jobs. `on_outage` decides what
      # happens while the lock server cannot be reached: :raise raises the error of the connection,
      # so that nothing is pushed or run, and :run pushes and runs jobs without their locks. The
      # option `unique_on_outage` of a class takes precedence.
      def install(redis, on_outage: :raise)
        @store = Store.new(redis)
        @on_outage = Outages.checked(on_outage)
        return if @is_installed

        @is_installed = true
        # Since version 7, the configuration is an object.
        newer = ::Sidekiq.respond_to?(:default_configuration)
        install_in(newer ? ::Sidekiq.default_configuration : ::Sidekiq)
      end

      # The digest starts with the name of the class, so that digests can be searched by pattern.
      def digest_of(job)
        content = JSON.generate([job["class"], job["queue"], job["args"]])
        "unique:#{job['class']}:#{Digest::SHA256.hexdigest(content)[0, 32]}"
      end

      private

      def install_in(sidekiq)
        sidekiq.client_middleware.add(ClientMiddleware)
        sidekiq.server_middleware.add(ServerMiddleware)
        sidekiq.death_handlers << ->(job, _error) { UniqueLock.of(job)&.release }
      end
    end
  end
end
