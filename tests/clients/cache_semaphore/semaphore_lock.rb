# Uses Rails' cache to let at most one of many identical requests run, as applications do.

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
