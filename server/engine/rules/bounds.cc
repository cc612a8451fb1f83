#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

void Bounds::set_short_of_memory(bool is_short) {
  is_short_of_memory_ = is_short;
  ChooseLocksBound();
}

void Bounds::set_short_of_space(bool is_short) {
  is_short_of_space_ = is_short;
  ChooseLocksBound();
}

void Bounds::set_lifted(bool is_lifted) {
  is_lifted_ = is_lifted;
  ChooseLocksBound();
}

void Bounds::ChooseLocksBound() {
  locks_bound_ = takes_nothing_new() ? 0 : state_.options.locks_max;
}

std::optional<LockStatus> Bounds::WhyNotMore(ClientRef client, std::size_t claims) const {
  if (takes_nothing_new()) return LockStatus::kOutOfMemory;
  if (is_lifted_) return std::nullopt;
  const std::uint64_t present = state_.clients.CountClaims(client);
  const bool is_within = present + claims <= state_.options.claims_per_client_max;
  if (is_within || client == kUnknownClient) return std::nullopt;
  return LockStatus::kTooManyOfClient;
}

std::optional<LockStatus> Bounds::WhyNoLockIsMade(ClientRef client) const {
  if (const auto refusal = WhyNoNewLocks(1)) return refusal;
  return WhyNotMore(client);
}

std::optional<LockStatus> Bounds::WhyNoNewLocks(std::size_t locks) const {
  if (locks == 0 || is_lifted_) return std::nullopt;
  if (state_.counts.locks + locks > state_.options.locks_max) return LockStatus::kTooManyLocks;
  if (takes_nothing_new()) return LockStatus::kOutOfMemory;
  return std::nullopt;
}

bool Bounds::IsQueueAtBound(const LockEntry& lock, std::uint64_t bound) const {
  const ContendedLock* contended = lock.contended.get();
  const std::size_t places =
      contended == nullptr ? 0 : contended->queue.size() + contended->watchers.size();
  return places >= bound;
}

bool Bounds::BringsTooMuch(const Hold& present, const LockRequest& request) const {
  if (!is_short_of_memory()) return false;
  const auto* claim = present.is_claim() ? static_cast<const Claim*>(&present) : nullptr;
  if (request.meta && request.meta != MetaOf(present)) return true;
  const bool has_session = claim != nullptr && claim->has_session();
  const bool has_channel = claim != nullptr && claim->channel() != nullptr;
  return (request.terms.session_grace_ms && !has_session) || (request.notify && !has_channel);
}

}  // namespace fairlock::engine
