#include <algorithm>
#include <cassert>
#include <utility>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

namespace {

// The order in which locks are considered at the end of a transaction: the longest wait first, and
// the keys of an MLOCK in the order in which it named them.
std::pair<std::uint64_t, std::uint8_t> OrderOf(const ContendedLock& contended) {
  if (!contended.queue.empty())
    return {contended.queue.front().arrival, contended.queue.front().rank()};
  return {contended.watchers.empty() ? 0 : contended.watchers.front().arrival, 0};
}

}  // namespace

void Grants::BeginTransaction(TimeMs now) {
  assert(!state_.is_in_transaction);
  Limits::EndDue(state_, now);
  texts_.clear();
  state_.limit_changes_before_transaction = state_.limit_changes;
  state_.is_in_transaction = true;
}

void Grants::EndTransaction(Step step) {
  assert(state_.is_in_transaction);
  state_.is_in_transaction = false;
  deferred_.sort(
      [](const ContendedLock& a, const ContendedLock& b) { return OrderOf(a) < OrderOf(b); });
  while (!deferred_.empty()) {
    ContendedLock& contended = deferred_.front();
    deferred_.pop_front();
    GrantDeferred(contended, step);
  }
}

bool Grants::Defer(LockEntry& lock) {
  ContendedLock& contended = *lock.contended;
  if (contended.is_deferred()) return true;
  // Overdue deadlines belong before the transaction, so what they allow is granted at once.
  if (state_.is_in_past) return false;
  if (!contended.queue.empty() || !contended.watchers.empty()) deferred_.push_back(contended);
  return true;
}

void Grants::GrantDeferred(ContendedLock& contended, Step step) {
  // The waiter may have left in the meantime.
  if (contended.queue.empty() && contended.watchers.empty()) return;
  LockEntry& lock =
      contended.queue.empty() ? contended.watchers.front().lock : contended.queue.front().lock;
  GrantNext(lock, step);
  Claims::Discard(state_, state_.table.HashOf(lock.key()), lock);
}

std::string_view Grants::OutlivingTransaction(std::string_view text) {
  return state_.is_in_transaction ? texts_.emplace_back(text) : text;
}

void Grants::EmitIfVacated(LockEntry& lock, TimeMs now) {
  ContendedLock& contended = *lock.contended;
  // If it is deferred, a place in the queue may still be granted at the end of the transaction.
  if (!contended.vacating || (contended.is_deferred() && !contended.queue.empty())) return;
  rules_.events.EmitVacated(lock, *std::exchange(contended.vacating, std::nullopt), now);
}

void Grants::GrantContended(LockEntry& lock, Step step) {
  if (std::exchange(lock.contended->is_to_grant, false)) std::erase(state_.queues_to_grant, &lock);
  GrantOrDefer(lock, step);
  if (!state_.queues_to_grant.empty()) GrantEnqueued(lock, step);
  EmitIfVacated(lock, step.now);
}

void Grants::GrantEnqueued(const LockEntry& own, Step step) {
  // A queue is added again when a further grant or reservation of an MLOCK changes it. The loop
  // ends, because there are no more such changes than places.
  for (std::size_t i = 0; i < state_.queues_to_grant.size(); ++i) {
    LockEntry& lock = *state_.queues_to_grant[i];
    lock.contended->is_to_grant = false;
    GrantOrDefer(lock, step);
  }
  std::sort(state_.queues_to_grant.begin(), state_.queues_to_grant.end());
  state_.queues_to_grant.erase(
      std::unique(state_.queues_to_grant.begin(), state_.queues_to_grant.end()),
      state_.queues_to_grant.end());
  for (LockEntry* lock : state_.queues_to_grant) {
    EmitIfVacated(*lock, step.now);
    if (lock == &own || lock->contended->is_expiring) continue;
    Claims::Discard(state_, state_.table.HashOf(lock->key()), *lock);
  }
  state_.queues_to_grant.clear();
}

void Grants::GrantOrDefer(LockEntry& lock, Step step) {
  if (state_.is_in_transaction && Defer(lock)) return;
  GrantQueue(lock, step);
  rules_.watchers.AnswerEnded(lock, step.effects);
}

void Grants::GrantQueue(LockEntry& lock, Step step) {
  ContendedLock& contended = *lock.contended;
  bool is_first = true;
  for (auto at = contended.active.begin(); at != contended.active.end();) {
    Claim& place = *at;
    ++at;
    if (place.is_reserved) continue;
    if (!Limits::HasSlot(state_, lock, place.mode)) break;
    if (place.multi_lock() != nullptr && Turns::FindBlocked(state_, place, place.mode) != nullptr)
      break;
    if (!std::exchange(is_first, false)) {
      if (state_.grants_left == 0) return rules_.wait_queue.SetSeen(contended, false);
      --state_.grants_left;
    }
    GrantOrReserve(place, step);
  }
}

void Grants::GrantOrReserve(Claim& place, Step step) {
  if (place.state == ClaimState::kKept) {
    rules_.wait_queue.Reserve(place);
    rules_.wait_queue.EnqueueOthers(place);
    return;
  }
  Pending& request = RequestOf(place);
  Attachment* to = request.attachment;
  rules_.places.Grant(place, nullptr, step.now);
  rules_.answers.AnswerPlace(
      place,
      {nullptr, ResolutionKind::kGranted, place.token, state_.table.HashOf(place.lock.key()), {}},
      step);
  if (!place.has_session() || to == nullptr) return;
  ForEachClaim(place, [&](Claim& claim) { rules_.holds.Bind(claim, *to); });
}

}  // namespace fairlock::engine
