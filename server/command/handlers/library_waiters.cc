#include "server/command/handlers/library_waiters.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "server/command/environment/unix_time.h"
#include "server/values/names.h"

namespace fairlock::command {

namespace {

// The waiters whose time is over, which the library removes when it comes to them.
std::vector<std::string_view> OverdueOf(const AskedKey& asked, std::string_view ends_key) {
  std::vector<std::string_view> overdue;
  if (ends_key.empty()) return overdue;
  const auto* ends =
      FindContent<values::SortedSet>(asked.server, asked.Beside(ends_key), asked.now);
  if (ends == nullptr) return overdue;
  const auto now_unix_ms = static_cast<double>(asked.server.unix_time.MsOf(asked.now, asked.now));
  for (const values::SortedSet::Member& member : ends->members()) {
    if (member.score > now_unix_ms) break;
    overdue.push_back(member.name);
  }
  return overdue;
}

}  // namespace

std::vector<std::string_view> WaitersOf(const AskedKey& asked, const values::LibraryLock& lock) {
  std::vector<std::string_view> waiters;
  for (const values::LibraryQueue& queue : lock.queues) {
    if (!asked.MayRead(queue.key)) continue;
    const auto* list = FindContent<values::List>(asked.server, asked.Beside(queue.key), asked.now);
    if (list == nullptr) continue;
    const values::Names overdue(OverdueOf(asked, queue.ends_key));
    const std::size_t before = waiters.size();
    for (const std::string& element : list->elements()) {
      if (lock.mark && element == *lock.mark) continue;
      if (!overdue.Has(element)) waiters.push_back(element);
    }
    if (queue.first == values::ListEnd::kRight) {
      std::reverse(waiters.begin() + static_cast<std::ptrdiff_t>(before), waiters.end());
    }
  }
  return waiters;
}

std::optional<FoundLibraryLock> FindLibraryLock(const AskedKey& asked) {
  auto& [server, user, key, now] = asked;
  if (server.values.store().empty()) return std::nullopt;
  FoundLibraryLock found = {.value = server.values.Find(key, now)};
  if (found.value != nullptr) {
    auto lock = values::RecogniseLock(*found.value, server.unix_time.MsOf(now, now));
    if (!lock) return std::nullopt;
    found.lock = *std::move(lock);
  } else {
    if (server.locks.engine().redis().Peek(key, now).exists) return std::nullopt;
    found.lock = values::FreeLockOf(key.bytes);
  }
  found.waiters = WaitersOf(asked, found.lock);
  if (found.value == nullptr && found.waiters.empty()) return std::nullopt;
  return found;
}

}  // namespace fairlock::command
