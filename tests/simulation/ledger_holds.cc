// The ledger: holders and waiters.

#include <algorithm>

#include "tests/simulation/ledger.h"
#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::LockStatus;
using engine::TransferStatus;

bool Ledger::GivesToken() const {
  if (call_ == nullptr) return false;
  if (call_->operation == Operation::kLock || call_->is_mlock()) {
    return outcome_->status == static_cast<int>(LockStatus::kGranted);
  }
  if (call_->operation == Operation::kSet || call_->operation == Operation::kMsetNx) {
    return IsTakeover() || outcome_->status == static_cast<int>(engine::WriteStatus::kGranted);
  }
  return call_->operation == Operation::kTransfer &&
         outcome_->status == static_cast<int>(TransferStatus::kTransferred);
}

Ledger::Hold Ledger::HoldFor(const Place& place, Token token, TimeMs now) const {
  const TimeMs end = LeaseEnd(now, place.lease_ms);
  return {.owner = place.owner,
          .keys = place.keys,
          .is_mlock = place.is_mlock,
          .token = token,
          .mode = place.mode,
          .lease_ms = place.lease_ms,
          .lease_end = end,
          .end = end,
          .session_grace_ms = place.session_grace_ms,
          .session_connection = place.connection,
          .cool_until = place.min_hold_ms > 0 ? After(now, place.min_hold_ms) : 0,
          .arrival = place.arrival,
          .keep_ms = place.keep_ms,
          .min_hold_ms = place.min_hold_ms,
          .client = place.client,
          .channel = place.channel,
          .wait_end = place.wait_end};
}

void Ledger::NoteToken(Token token) {
  Require(token > newest_token_, "tokens rise over everything");
  newest_token_ = std::max(newest_token_, token);
  recent_tokens_[tokens_given_++ % recent_tokens_.size()] = token;
}

void Ledger::AddHold(int index, Hold hold, TimeMs now) {
  Key& key = At(index);
  // A transferred hold may have been granted under other limits, if there have ever been overrides.
  const bool is_transfer = call_ != nullptr &&
                           (call_->operation == Operation::kTransfer || IsTakeover()) &&
                           GivesToken() && hold.token == outcome_->token;
  Require((is_transfer && overrides_.was_ever_used()) ||
              HasRoomBeside(RoomsOf(key, now), hold.mode, key.limit_override),
          "no hold is granted beside one that does not tolerate it");
  for (const Hold& other : key.holds) {
    if (IsOver(other.end, now) || other.is_leaving) continue;
    Require(other.owner != hold.owner, "an owner holds once");
  }
  // An expiry may have granted the lock before the command ended this grant.
  const bool is_named = call_ != nullptr && std::ranges::count(call_->named(), index) > 0;
  hold.is_leaving = is_named && IsLeaving(hold, false);
  key.holds.push_back(hold);
}

void Ledger::ConfirmAll(Token token) {
  for (Key& key : keys_) {
    for (Hold& hold : key.holds) {
      if (hold.token == token) hold.is_confirmed = true;
    }
  }
}

// Requires that `count` new holds or places are allowed. What the owner already held or waited for
// is not new.
void Ledger::CheckMayGrow(std::size_t count) {
  Require(!is_short_of_memory_ && !has_no_room_,
          "nothing new is taken while memory or room is short");
  Require(CountOfClient(call_->connection) + count <= setting_.engine.claims_per_client_max,
          "no connection has more than is configured");
}

std::uint64_t Ledger::CountOfClient(int connection) const {
  std::uint64_t count = 0;
  for (const Key& key : keys_) {
    count += static_cast<std::uint64_t>(std::ranges::count(key.holds, connection, &Hold::client) +
                                        std::ranges::count(key.line, connection, &Place::client));
  }
  return count;
}

bool Ledger::IsWaiting(int connection) const {
  const auto index = static_cast<std::size_t>(connection);
  return connection >= 0 && index < is_waiting_.size() && is_waiting_[index];
}

void Ledger::SetWaiting(int connection, bool is_waiting) {
  const auto index = static_cast<std::size_t>(connection);
  if (index >= is_waiting_.size()) is_waiting_.resize(index + 1, false);
  is_waiting_[index] = is_waiting;
}

std::vector<int> Ledger::KeysOfMlock(int key, int owner) const {
  const auto hold = FindOwner(At(key).holds, owner);
  if (hold != At(key).holds.end() && hold->is_mlock) return hold->keys;
  const auto place = FindOwner(At(key).line, owner);
  if (place != At(key).line.end() && place->is_mlock) return place->keys;
  return {};
}

TimeMs Ledger::NextDeadline() const {
  TimeMs next = overrides_.NextEnd();
  for (const Key& key : keys_) {
    for (const Hold& hold : key.holds) next = std::min(next, hold.end);
    for (const Cooling& room : key.cooling) next = std::min(next, room.end);
    for (const Place& place : key.line) next = std::min(next, place.end);
    for (const Watcher& watcher : key.watchers) next = std::min(next, watcher.give_up);
  }
  return next;
}

Token Ledger::EarlierToken(std::size_t back) const {
  return recent_tokens_[back % recent_tokens_.size()];
}

}  // namespace fairlock::simulation
