// Holds that pass from one owner to another.

#include <memory>
#include <string>
#include <utility>

#include "server/engine/lock_engine.h"

namespace fairlock::engine {

TransferResult LockEngine::Transfer(const TransferRequest& request, TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(request.key);
  LockEntry* lock = FindSettled(hash, request.key, now, effects);
  if (lock == nullptr) return {};
  Hold* hold = FindHold(*lock, request.owner, request.token);
  if (hold == nullptr) return {};
  if (FindHold(*lock, request.new_owner, std::nullopt) != nullptr) {
    return {TransferStatus::kNewOwnerHoldsAlready, 0};
  }
  Succession terms{.new_owner = request.new_owner,
                   .end = LeaseEndOf(*hold),
                   .lease_ms = static_cast<DurationMs>(hold->lease_ms)};
  // A session does not go along.
  const bool has_session = hold->is_claim() && static_cast<const Claim&>(*hold).has_session();
  if (request.lease_ms || (terms.end >= kNever && has_session)) {
    terms.lease_ms = request.lease_ms.value_or(options_.default_lease_ms);
    terms.end = now + terms.lease_ms;
  }
  const Token token = HandOver(hash, *lock, *hold, terms, now, effects);
  return {TransferStatus::kTransferred, token};
}

Token LockEngine::HandOver(std::uint64_t hash, LockEntry& lock, Hold& hold, const Succession& terms,
                           TimeMs now, Effects& effects) {
  Claim& old = hold.is_claim() ? static_cast<Claim&>(hold) : MovePlainHoldToClaim(lock);
  const std::string old_owner(old.owner());
  Claim& heir = ClaimForHeir(lock, terms.new_owner, now, effects);
  InheritOptions(heir, old, terms.keeps_terms);
  const TimeMs cool_until = old.extras == nullptr ? 0 : old.extras->cool_until;
  Confirm(old);
  EndHold(hash, lock, old, HoldEnd::kTransferred, now);
  heir.SetLeaseMs(terms.lease_ms);
  AddHold(heir, NextToken(), nullptr, now);
  SetLeaseEnd(*lock.detail, heir, terms.end);
  if (cool_until > 0 && terms.keeps_terms) heir.NeedExtras().cool_until = cool_until;
  // What is the answer to a LOCK that waited is its hold.
  const bool is_answer = heir.attachment != nullptr;
  heir.set_redis_way(terms.is_redis_way && !is_answer);
  if (terms.client != kUnknownClient && !is_answer) SetClient(heir, terms.client);
  NoteHold(hash, heir);
  TellWithOther(EventKind::kTransferred, hash, heir, old_owner, now);
  heir.arrival = 0;  // what the new owner got so is not undone
  heir.is_touched = true;
  const Token token = heir.token;
  AnswerPlace(heir, {nullptr, ResolutionKind::kGranted, token, hash, {}}, now, effects);
  Serve(lock, now, effects);
  return token;
}

// The new owner's place ends. It becomes the hold; but an MLOCK can not be granted a part.
Claim& LockEngine::ClaimForHeir(LockEntry& lock, std::string_view new_owner, TimeMs now,
                                Effects& effects) {
  Claim* place = table_.FindClaim(lock, new_owner);
  if (place != nullptr && place->group() == nullptr) {
    LeaveLine(*place);
    return *place;
  }
  if (place != nullptr) CancelPlace(*place, now, effects);
  return table_.CreateClaim(lock, new_owner);
}

void LockEngine::InheritOptions(Claim& heir, Claim& old, bool keeps_terms) {
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
    labels_.AddUse(heir.label);
  }
}

}  // namespace fairlock::engine
