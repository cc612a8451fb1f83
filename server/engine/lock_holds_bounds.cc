// What may not become more: locks, places and claims up to their configured numbers, and anything
// while memory is short.

#include "server/engine/lock_holds.h"

namespace fairlock::engine {

void LockHolds::set_short_of_memory(bool is_short) {
  is_short_of_memory_ = is_short;
  locks_bound_ = takes_nothing_new() ? 0 : options_.locks_max;
}

void LockHolds::set_short_of_space(bool is_short) {
  is_short_of_space_ = is_short;
  locks_bound_ = takes_nothing_new() ? 0 : options_.locks_max;
}

std::optional<LockStatus> LockHolds::WhyNotMore(ClientRef client, std::size_t claims) const {
  if (takes_nothing_new()) return LockStatus::kOutOfMemory;
  const std::uint64_t present = clients_.CountClaims(client);
  const bool is_within = present + claims <= options_.claims_per_client_max;
  if (is_within || client == kUnknownClient) return std::nullopt;
  return LockStatus::kTooManyOfClient;
}

std::optional<LockStatus> LockHolds::WhyNoLockIsMade(ClientRef client) const {
  if (const auto refusal = WhyNoNewLocks(1)) return refusal;
  return WhyNotMore(client);
}

std::optional<LockStatus> LockHolds::WhyNoNewLocks(std::size_t locks) const {
  if (locks == 0) return std::nullopt;
  if (counts_.locks + locks > options_.locks_max) return LockStatus::kTooManyLocks;
  if (takes_nothing_new()) return LockStatus::kOutOfMemory;
  return std::nullopt;
}

bool LockHolds::IsLineAtBound(const LockEntry& lock, std::uint64_t bound) const {
  const LockDetail* detail = lock.detail.get();
  const std::size_t places = detail == nullptr ? 0 : detail->line.size() + detail->watchers.size();
  return places >= bound;
}

bool LockHolds::BringsTooMuch(const Hold& present, const LockRequest& request) const {
  if (!is_short_of_memory_) return false;
  const auto* claim = present.is_claim() ? static_cast<const Claim*>(&present) : nullptr;
  if (request.meta && request.meta != MetaOf(present)) return true;
  const bool has_session = claim != nullptr && claim->has_session();
  const bool has_channel = claim != nullptr && claim->channel() != nullptr;
  return (request.session_grace_ms && !has_session) || (request.notify && !has_channel);
}

}  // namespace fairlock::engine
