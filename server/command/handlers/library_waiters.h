// The waiters of the locks of libraries, which are elements of small lists.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "server/access/user.h"
#include "server/command/server_parts.h"
#include "server/values/library_locks.h"

namespace fairlock::command {

// A key about which a user asks. Permissions decide which queues and numbers of a lock are found.
struct AskedKey {
  ServerParts& server;
  const access::User& user;
  engine::KeyName key;
  engine::TimeMs now = 0;

  bool MayRead(std::string_view other) const { return user.MayUse(other, access::KeyUse::kRead); }
  // Another key in the same database.
  engine::KeyName Beside(std::string_view other) const { return {.db = key.db, .bytes = other}; }
};

// The value that a library uses beside a lock; null if there is none of that type, or if it is
// larger than any library's.
template <typename Content>
Content* FindContent(ServerParts& server, const engine::KeyName& key, engine::TimeMs now) {
  values::Value* value = server.values.Find(key, now);
  if (value == nullptr || value->size() > values::kLibraryElementsMax) return nullptr;
  return std::get_if<Content>(&value->content);
}

// The owners that wait for the lock, the next one first, without those whose time to wait is over.
// Leaves out queues that the user may not read. Views are valid until the next change. O(waiters),
// plus O(waiters) for each one whose time is over.
std::vector<std::string_view> WaitersOf(const AskedKey& asked, const values::LibraryLock& lock);

// What is kept under that key: the lock of a library, which may be free with waiters.
struct FoundLibraryLock {
  const values::Value* value = nullptr;  // null: the lock is free
  values::LibraryLock lock = {};
  std::vector<std::string_view> waiters = {};
};

// Nullopt: the key is not that of a library's lock.
std::optional<FoundLibraryLock> FindLibraryLock(const AskedKey& asked);

}  // namespace fairlock::command
