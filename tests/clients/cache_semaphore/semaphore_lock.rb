# Uses Rails' cache to let at most one of many identical requests run, as applications do.

# Until Rails 7.1, the options of the store's pool had other names. Rails 7.2 has no pool together
# with version 3 of the gem connection_pool.
POOL = if ActiveSupport.gem_version < Gem::Version.new("7.1")
         { pool_size: 3, pool_timeout: 5 }
       elsif Gem.loaded_specs["connection_pool"]&.version.to_s >= "3"
         { pool: false }
       else
         { pool: { size: 3, timeout: 5 } }
       end
WITHOUT_POOL = POOL.key?(:pool) ? { pool: false } : {}

module SemaphoreLock
  # The including class defines `cache`, the store to use.
  def with_semaphore_lock(key, ttl_s: 10, namespace: "semaphore_lock")
    full_key = "#{namespace}:#{key}"
    unless cache.write(full_key, true, expires_in: ttl_s, unless_exist: true)
      return yield(:skipped)
    end

    begin
      yield :locked
    ensure
      cache.delete(full_key)
    end
  end
end
