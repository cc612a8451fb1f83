// The state of the engine, which all its rules share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "server/engine/api/attachment.h"
#include "server/engine/api/change_log.h"
#include "server/engine/api/engine_options.h"
#include "server/engine/api/inspection.h"
#include "server/engine/api/key_rules.h"
#include "server/engine/api/requests.h"
#include "server/engine/containers/timer_wheel.h"
#include "server/engine/state/claim.h"
#include "server/engine/state/client_table.h"
#include "server/engine/state/label_table.h"
#include "server/engine/state/limit_overrides.h"
#include "server/engine/state/lock_table.h"
#include "server/engine/state/multi_lock.h"
#include "server/engine/state/notify_channel.h"
#include "server/engine/state/recent_keys.h"
#include "server/engine/state/waiting_requests.h"

namespace fairlock::engine {

// A period of n ms may have begun anywhere within its first tick, because times are rounded down.
// So it has certainly ended only after the tick in which it ends.
inline TimeMs LastTickBefore(TimeMs now) { return now - 1; }

// The methods keep the members consistent with each other; the rules decide what may
// happen and when.
struct EngineState {
  explicit EngineState(const EngineOptions& engine_options);
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;

  // Schedules a hold, place, cooldown or watcher of that lock.
  void ScheduleMember(ContendedLock& contended, TimerNode& node, TimeMs deadline,
                      std::uint8_t timer_class) {
    wheel.Schedule(node, deadline, timer_class);
    contended.due_min = std::min(contended.due_min, deadline);
  }
  // The label that the request gives, or otherwise the one that the rules assign to its key.
  std::string_view LabelOf(const LockRequest& request, std::string_view key) const {
    return request.label ? *request.label : label_rules.LabelOf(key);
  }
  // Adds the name of a hold that is new or has changed to the change log, if there is one.
  void LogHold(std::uint64_t hash, const Hold& hold) {
    if (changes != nullptr) changes->holds.push_back({hash, hold.token});
  }
  // Logs that a stored hold has ended.
  void LogHoldEnd(const LockEntry& lock, const Hold& hold) {
    if (changes == nullptr || hold.token >= changes->first_unwritten) return;
    changes->NoteEnd(ChangeLog::Kind::kHold, hold.token, lock.key().db, lock.key().bytes);
  }

  EngineOptions options;
  ChannelTable channels;  // outlives the claims
  LockTable table;
  TimerWheel wheel;
  RecentKeys recent;
  LabelTable labels;
  LabelRules label_rules;
  ClientTable clients;
  MultiLockTable held_multi_locks;
  EngineCounts counts;
  std::array<std::uint64_t, kDatabases> locks_by_db{};
  Token next_token;
  bool is_frozen = false;
  ChangeLog* changes = nullptr;  // null: changes are not logged
  std::uint64_t next_arrival = 1;
  WaitingRequests waiting;
  LimitOverrides overrides;
  // How many times the overrides have changed, plus 1, so that a queue that has seen 0 is unseen.
  std::uint64_t limit_changes = 1;
  QueueSet queues;
  // Those that are considered soon are numbered downwards from here. LOCKS shows it as a cursor.
  static constexpr std::uint64_t kFirstQueueNumber = std::uint64_t{1} << 40;
  std::uint64_t next_queue_number = kFirstQueueNumber;
  bool may_be_unseen = false;               // whether a queue was ever unseen
  std::size_t grants_left;                  // of EngineOptions::grants_of_a_turn
  std::vector<LockEntry*> queues_to_grant;  // the next Grants::GrantNext considers them
  Attachment closed;  // has the remaining session holds of closed connections, which end soon
  bool is_in_transaction = false;
  bool is_in_past =
      false;  // within a transaction, while what was due before it began is being ended
  std::uint64_t limit_changes_before_transaction = 0;
  std::vector<LockEntry*> expiring;  // these locks must stay from Expiry::Begin to Expiry::End
};

}  // namespace fairlock::engine
