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

      # The methods that the views call.
      module Helpers
        def locks_view(name) = File.read(File.join(VIEWS, "#{name}.erb"))
        # The parameters of the query or the form. Version 8 distinguishes these from the parts of
        # the path.
        def locks_param(name) = (respond_to?(:url_params) ? url_params(name) : params[name]).to_s
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
          @pattern = locks_param("pattern").empty? ? DIGESTS : locks_param("pattern")
          @entries = Sidekiq.store.list(@pattern)
          @metrics = Sidekiq.store.metrics
          erb(locks_view("locks"))
        end
        app.post("/locks") do
          Sidekiq.store.delete(locks_param("pattern"), reason: "deleted in Sidekiq's web interface")
          redirect(locks_path)
        end
      end

      def self.register_lock(app)
        app.get("/lock") do
          @digest = locks_param("digest")
          @entry = Sidekiq.store.find(@digest)
          redirect(locks_path) if @entry.nil?
          erb(locks_view("lock"))
        end
        app.post("/lock") do
          Sidekiq.store.delete_one(locks_param("digest"),
                                   reason: "deleted in Sidekiq's web interface")
          redirect(locks_path)
        end
      end
      private_class_method :register_list, :register_lock
    end
  end
end

# Version 8 needs the name, the tab and the path of its page; before 7.3, there was another way.
if Sidekiq::Web.respond_to?(:configure)
  Sidekiq::Web.configure do |web|
    web.register(Fairlock::Sidekiq::Web, name: "fairlock", tab: "Locks", index: "locks")
  end
else
  Sidekiq::Web.register(Fairlock::Sidekiq::Web)
  Sidekiq::Web.tabs["Locks"] = "locks"
end
