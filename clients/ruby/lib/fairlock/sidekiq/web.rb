# frozen_string_literal: true

require "sidekiq/web"

require_relative "../sidekiq"

module Fairlock
  module Sidekiq
    # The page "Locks" in Sidekiq's web interface: the digests that are held, their holders, and
    # counts by lock type. It changes something only by POST.
    module Web
      VIEWS = File.join(__dir__, "views")
      DIGESTS = "unique:*"
      private_constant :DIGESTS

      # What the views call.
      module Helpers
        def locks_view(name) = File.read(File.join(VIEWS, "#{name}.erb"))
        def locks_path = "#{root_path}locks"
        def lock_path(digest) = "#{root_path}lock?digest=#{CGI.escape(digest)}"
      end

      def self.registered(app)
        app.helpers(Helpers)
        register_list(app)
        register_lock(app)
      end

      def self.register_list(app)
        app.get("/locks") do
          @pattern = params["pattern"].to_s.empty? ? DIGESTS : params["pattern"]
          @entries = Sidekiq.store.list(@pattern)
          @metrics = Sidekiq.store.metrics
          erb(locks_view("locks"))
        end
        app.post("/locks") do
          Sidekiq.store.delete(params["pattern"], reason: "deleted in Sidekiq's web interface")
          redirect(locks_path)
        end
      end

      def self.register_lock(app)
        app.get("/lock") do
          @digest = params["digest"].to_s
          @entry = Sidekiq.store.find(@digest)
          redirect(locks_path) if @entry.nil?
          erb(locks_view("lock"))
        end
        app.post("/lock") do
          Sidekiq.store.delete_one(params["digest"], reason: "deleted in Sidekiq's web interface")
          redirect(locks_path)
        end
      end
      private_class_method :register_list, :register_lock
    end
  end
end

Sidekiq::Web.register(Fairlock::Sidekiq::Web)
Sidekiq::Web.tabs["Locks"] = "locks"
