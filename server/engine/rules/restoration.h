// Restart: stored holds, places and cooldowns are restored before the first request, without
// events. The owners of sessions and skipped places get time to reconnect.
#pragma once

#include "server/engine/api/change_log.h"
#include "server/engine/api/effects.h"
#include "server/engine/rules/rule.h"
#include "server/engine/state/lock_entry.h"

namespace fairlock::engine {

class Restoration : Rule {
 public:
  using Rule::Rule;

  // Reserves space for that many locks in advance, which is faster than growing the table.
  void ReserveLocks(std::size_t locks) { state_.table.Reserve(locks); }
  // For each key, the holds in ascending order of tokens and the places in ascending order of
  // arrival. Sessions and skipped places have at least `restart_grace_ms` to reconnect.
  void Restore(const rows::Hold& hold, DurationMs restart_grace_ms, TimeMs now);
  void Restore(const rows::Place& place, DurationMs restart_grace_ms, TimeMs now);
  void Restore(const rows::Cooldown& cooldown, TimeMs now);
  // Reserves slots for the places whose turn has come; tokens begin at `first_token`.
  void EndRestore(Token first_token, Step step);

 private:
  LockEntry& LockToRestore(const KeyName& key, const PlainTerms& terms);
  Claim& RestoreClaim(LockEntry& lock, const rows::Claim& row);
  Claim& RestorePlace(const KeyName& key, const rows::Place& row, TimeMs now);
  MultiLock& MultiLockToRestore(const rows::Hold& row);
};

}  // namespace fairlock::engine
