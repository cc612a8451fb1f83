// Locks of well-known libraries, recognised among the values by their shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/types.h"
#include "server/values/list.h"
#include "server/values/value.h"

namespace fairlock::values {

struct LibraryHolder {
  // As the library names it to its users.
  std::string owner;
  // The element of the value that stands for the hold; valid as long as the value does not change.
  std::string_view element;
  std::optional<engine::TimeMs> since_unix_ms = {};  // only if the shape shows it
  std::optional<engine::TimeMs> end_unix_ms = {};    // none if it ends with the value
  std::int64_t count = 1;                            // how often it was taken by this owner
};

// A list with one element for each waiter.
struct LibraryQueue {
  std::string key;
  ListEnd first = ListEnd::kLeft;  // where the next waiter is
  // The sorted set of the Unix times in ms at which waiters stop waiting; empty if there is none.
  std::string ends_key = {};
};

struct LibraryLock {
  std::string_view library;  // redisson, symfony, redis-semaphore or unique-jobs
  // Empty only for a lock that is not held and that may have a queue.
  std::vector<LibraryHolder> holders = {};
  bool is_shared = false;                 // held by readers
  std::vector<LibraryQueue> queues = {};  // the next waiter is in the first one
  std::optional<std::string> mark = {};   // an element of the queues that is no waiter
  // The keys of numbers, each of which is stored as the owner of a lock: the newest fencing token,
  // and the free permits of a semaphore, for which the first key that exists counts.
  std::string token_key = {};
  std::vector<std::string> permits_keys = {};
  // The permits whose time is over, and which the library has not yet returned to that number.
  std::size_t overdue_count = 0;
};

// Values with more elements than this are not looked at: no lock of a library has them.
inline constexpr std::size_t kLibraryElementsMax = 10'000;

// Returns the lock that the value is; nullopt if the value has none of the known shapes, or if all
// its holds have ended. Its work is proportional to the bytes of the value.
std::optional<LibraryLock> RecogniseLock(const Value& value, engine::TimeMs now_unix_ms);

// The lock without a holder that has that key and may have a queue.
LibraryLock FreeLockOf(std::string_view key);
// If the value is the queue of such a lock, returns the keys that the lock may have, the likeliest
// one first.
std::vector<std::string> LocksOfQueue(const Value& value);

// Whether a lock with that key and owner is only a number that a library stores beside its locks,
// and that must not be shown as a lock.
bool IsBesideLock(std::string_view key, std::string_view owner);

// How the library itself ends holds of its lock.
struct LibraryBreak {
  struct Membership {
    std::string key;
    std::string member;
  };
  struct Push {
    std::string key;
    std::string element;
    engine::DurationMs ttl_ms = 0;
  };
  std::vector<LibraryHolder> ended = {};
  // Whether the value is deleted. Otherwise, the elements of `ended` are.
  bool is_whole = false;
  // What remains is held by readers.
  bool leaves_readers = false;
  // Where the remaining holds end: at this Unix time, or when the last of these keys expires.
  std::optional<engine::TimeMs> end_unix_ms = {};
  std::vector<std::string> end_keys = {};
  // The other keys that are deleted, and the members of sorted sets.
  std::vector<std::string> keys = {};
  std::vector<Membership> memberships = {};
  // How many permits are free again.
  std::size_t permits = 0;
  // What wakes the waiters: an element of a list, or a message. An empty message stands for the
  // number of free permits, and an empty channel for none.
  std::optional<Push> push = {};
  std::string channel = {};
  std::string message = {};
};

// Plans the end of one hold, or of all if `owner` is not given. `first_waiter` is the first element
// of the first queue; empty if there is none. REQUIRES: `lock` was recognised in the value, and the
// owner is one of its holders.
LibraryBreak PlanBreak(const Value& value, const LibraryLock& lock,
                       std::optional<std::string_view> owner, std::string_view first_waiter);

}  // namespace fairlock::values
