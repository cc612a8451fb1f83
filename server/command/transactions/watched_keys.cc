#include "server/command/transactions/watched_keys.h"

#include <string>

#include "server/command/locks/locks.h"

namespace fairlock::command {

Watch WatchedKeys::Begin(const engine::KeyName& key, engine::TimeMs now) {
  engine::LockEngine& engine = locks_.engine();
  // This first expires overdue holds, so that their end does not count as a change.
  const std::uint64_t lease_stamp = engine.inspection().LeaseStamp(key, locks_.StepAt(now));
  const std::uint64_t hash = engine.Prefetch(key);
  if (entries_.empty()) locks_.AddEventSink(*this);
  Entry& entry = entries_[hash];
  ++entry.watches;
  return {key.db, std::string(key.bytes), hash, entry.changes, lease_stamp};
}

void WatchedKeys::End(const Watch& watch) {
  const auto entry = entries_.find(watch.key_hash);
  if (--entry->second.watches > 0) return;
  entries_.erase(entry);
  if (entries_.empty()) locks_.DropEventSink(*this);
}

bool WatchedKeys::HasChanged(const Watch& watch, engine::TimeMs now) {
  const std::uint64_t lease_stamp = locks_.engine().inspection().LeaseStamp(
      {watch.db, watch.key, watch.key_hash}, locks_.StepAt(now));
  return entries_.find(watch.key_hash)->second.changes != watch.changes ||
         lease_stamp != watch.lease_stamp;
}

void WatchedKeys::Take(const engine::Event& event) {
  switch (event.kind) {
    case engine::EventKind::kReacquired:
    case engine::EventKind::kDenied:
    case engine::EventKind::kQueued:
    case engine::EventKind::kRenewed:
    case engine::EventKind::kCancelled:
    case engine::EventKind::kReplaced:
    case engine::EventKind::kTimedOut:
    case engine::EventKind::kLapsed:
    case engine::EventKind::kVacated:
    case engine::EventKind::kLeaving:
      return;
    default:
      break;
  }
  CountChange(event.key_hash);
}

void WatchedKeys::CountChange(std::uint64_t key_hash) {
  if (entries_.empty()) return;
  const auto entry = entries_.find(key_hash);
  if (entry != entries_.end()) ++entry->second.changes;
}

}  // namespace fairlock::command
