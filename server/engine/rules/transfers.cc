#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

TransferResult Transfers::Transfer(const TransferRequest& request, Step step) {
  const std::uint64_t hash = state_.table.HashOf(request.key);
  LockEntry* lock = rules_.expiry.FindCurrent(hash, request.key, step);
  if (lock == nullptr) return {};
  Hold* hold = rules_.holds.Find(*lock, request.owner, request.token);
  if (hold == nullptr) return {};
  if (rules_.holds.Find(*lock, request.new_owner, std::nullopt) != nullptr) {
    return {TransferStatus::kNewOwnerHoldsAlready, 0};
  }
  Succession terms{.new_owner = request.new_owner,
                   .end = Holds::LeaseEndOf(*hold),
                   .lease_ms = static_cast<DurationMs>(hold->lease_ms)};
  // The new owner does not inherit the session.
  const bool has_session = hold->is_claim() && static_cast<const Claim&>(*hold).has_session();
  if (request.lease_ms || (terms.end >= kNever && has_session)) {
    terms.lease_ms = request.lease_ms.value_or(state_.options.default_lease_ms);
    terms.end = step.now + terms.lease_ms;
  }
  const Token token = HandOver(hash, *lock, *hold, terms, step);
  return {TransferStatus::kTransferred, token};
}

Token Transfers::HandOver(std::uint64_t hash, LockEntry& lock, Hold& hold, const Succession& terms,
                          Step step) {
  Claim& old =
      hold.is_claim() ? static_cast<Claim&>(hold) : Claims::MovePlainHoldToClaim(state_, lock);
  const std::string old_owner(old.owner());
  Claim& heir = ClaimForHeir(lock, terms.new_owner, step);
  InheritOptions(heir, old, terms.keeps_terms);
  const TimeMs cool_until = old.extras == nullptr ? 0 : old.extras->cool_until;
  const Token old_token = old.token;
  const bool is_leaving = old.is_leaving();
  DurationMs lease_ms = terms.lease_ms;
  TimeMs end = terms.end;
  if (is_leaving) {
    const auto notice_ms = static_cast<DurationMs>(old.lease_ms);
    lease_ms = lease_ms == 0 ? notice_ms : std::min(lease_ms, notice_ms);
    end = std::min(end, Holds::LeaseEndOf(old));
  }
  Holds::Confirm(old);
  rules_.holds.End(hash, lock, old, HoldEnd::kTransferred, step.now);
  heir.SetLeaseMs(lease_ms);
  heir.set_leaving(is_leaving);
  rules_.holds.Add(heir, rules_.holds.NextToken(), nullptr, step.now);
  rules_.holds.SetLeaseEnd(*lock.contended, heir, end);
  if (cool_until > 0 && terms.keeps_terms) heir.NeedExtras().cool_until = cool_until;
  // If the new owner waited by LOCK, the hold is the answer to that LOCK.
  const bool is_answer = heir.attachment != nullptr;
  heir.set_redis_way(terms.is_redis_way && !is_answer);
  if (terms.client != kUnknownClient && !is_answer) Claims::SetClient(state_, heir, terms.client);
  state_.LogHold(hash, heir);
  rules_.events.EmitWithOther(EventKind::kTransferred, hash, heir, old_owner, step.now);
  if (is_leaving) rules_.events.EmitLeaving(hash, lock, heir, end, old_token, step.now);
  heir.arrival = 0;  // no place to return to, because the grant of a transfer is not undone
  heir.is_touched = true;
  const Token token = heir.token;
  rules_.answers.AnswerPlace(heir, {nullptr, ResolutionKind::kGranted, token, hash, {}}, step);
  rules_.grants.GrantNext(lock, step);
  return token;
}

// The new owner's place becomes the hold. If it is a place of an MLOCK, it ends instead, because an
// MLOCK needs all its keys.
Claim& Transfers::ClaimForHeir(LockEntry& lock, std::string_view new_owner, Step step) {
  Claim* place = state_.table.FindClaim(lock, new_owner);
  if (place != nullptr && place->multi_lock() == nullptr) {
    rules_.wait_queue.Leave(*place);
    return *place;
  }
  if (place != nullptr) rules_.releases.CancelPlace(*place, step);
  return state_.table.CreateClaim(lock, new_owner);
}

void Transfers::InheritOptions(Claim& heir, Claim& old, bool keeps_terms) {
  std::shared_ptr<const std::string> meta;
  std::shared_ptr<NotifyChannel> channel;
  if (heir.extras != nullptr) {
    meta = std::move(heir.extras->meta);
    channel = std::move(heir.extras->channel);
  }
  if (keeps_terms && meta == nullptr && old.extras != nullptr) meta = std::move(old.extras->meta);
  heir.extras.reset();
  if (meta != nullptr) heir.NeedExtras().meta = std::move(meta);
  if (channel != nullptr) heir.NeedExtras().channel = std::move(channel);
  heir.mode = keeps_terms ? old.mode : Mode{};
  if (heir.label == kNoLabel) {
    heir.label = old.label;
    state_.labels.AddUse(heir.label);
  }
}

}  // namespace fairlock::engine
