// Locks of well-known libraries, recognised among the values by their shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/types.h"
#include "server/values/value.h"

namespace fairlock::values {

// The views are valid as long as the value does not change.
struct LibraryHolder {
  // The element of the value that stands for the hold.
  std::string_view owner;
  std::optional<engine::TimeMs> since_unix_ms = {};  // only if the shape tells
  std::optional<engine::TimeMs> end_unix_ms = {};    // none: it ends with the value
};

struct LibraryLock {
  std::string_view library;                 // redisson, symfony, redis-semaphore or unique-jobs
  std::vector<LibraryHolder> holders = {};  // never empty
  bool is_shared = false;                   // held by readers
  // The keys of the lists that have one element for each waiter.
  std::vector<std::string> queue_keys = {};
};

// Returns the lock that the value is; nullopt if the value has none of the known shapes, or if all
// its holds have ended. Its work is proportional to the number of elements.
std::optional<LibraryLock> RecogniseLock(const Value& value, engine::TimeMs now_unix_ms);

// The other keys, and the members of sorted sets, that a library removes together with its lock.
struct LibraryRemains {
  struct Membership {
    std::string key;
    std::string member;
  };
  std::vector<std::string> keys = {};
  std::vector<Membership> memberships = {};
  // Where the library tells waiters of the release, and the message; an empty channel: nowhere.
  std::string channel = {};
  std::string message = {};
};

// `first_waiter` is the first element of the first list of `queue_keys`; empty: none. REQUIRES:
// `lock` was recognised in a value with that key.
LibraryRemains RemainsOf(std::string_view key, const LibraryLock& lock,
                         std::string_view first_waiter);

}  // namespace fairlock::values
