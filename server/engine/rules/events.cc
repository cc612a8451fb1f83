#include <boost/container/static_vector.hpp>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

namespace {

// Names the oldest holder in the event, as the one that blocks the request.
void NameHolder(const LockEntry& lock, Event& event) {
  const Hold* hold = lock.oldest_hold();
  if (hold == nullptr) return;
  event.other = OwnerOf(*hold);
  event.other_token = hold->token;
}

}  // namespace

void Events::EmitToSink(EventKind kind, std::uint64_t hash, const LockEntry& lock, const Hold& hold,
                        TimeMs now) {
  // Reuses one event and fills in only what most events have: every grant and every release comes
  // through here.
  Event& event = told_;
  event.kind = kind;
  event.client = static_cast<ClientRef>(hold.client);
  event.key.db = lock.key().db;
  event.key.bytes = lock.key().bytes;
  event.key_hash = hash;
  event.label = state_.labels.Text(static_cast<LabelRef>(hold.label));
  event.token = hold.token;
  event.at = now;
  event.held_ms = now - static_cast<TimeMs>(hold.since);
  if (hold.is_claim()) return EmitClaim(static_cast<const Claim&>(hold));
  event.owner = lock.plain_owner();
  sink_->Take(event);
}

void Events::EmitClaim(const Claim& claim) {
  Event event = told_;
  event.owner = claim.owner();
  event.has_waited = event.kind == EventKind::kGranted && claim.arrival != 0;
  if (claim.is_place()) event.held_ms = 0;
  if (claim.is_place() || event.has_waited) event.waited_ms = event.at - claim.joined;
  sink_->Take(event);
}

void Events::EmitWithOther(EventKind kind, std::uint64_t hash, const Claim& claim,
                           std::string_view other, TimeMs now) {
  if (sink_ == nullptr) return;
  told_.other = other;
  EmitToSink(kind, hash, claim.lock, claim, now);
  told_.other = {};
}

void Events::EmitLeaving(std::uint64_t hash, const LockEntry& lock, const Hold& hold, TimeMs end,
                         Token token_before, TimeMs now) {
  if (sink_ == nullptr) return;
  told_.grace_ms = end - now;
  told_.other_token = token_before;
  EmitToSink(EventKind::kLeaving, hash, lock, hold, now);
  told_.grace_ms = 0;
  told_.other_token = 0;
}

void Events::EmitPlace(EventKind kind, Claim& place, TimeMs now, std::string_view other) {
  // No event announced a marked place, so none reports its end either.
  if (sink_ == nullptr || place.state == ClaimState::kMarked) return;
  ForEachClaim(place, [&](Claim& claim) {
    EmitWithOther(kind, state_.table.HashOf(claim.lock.key()), claim, other, now);
  });
}

void Events::EmitQueued(Claim& place, DenialReason reason, TimeMs now) {
  if (sink_ == nullptr) return;
  ForEachClaim(place, [&](Claim& claim) {
    Event event;
    event.kind = EventKind::kQueued;
    event.reason = reason;
    event.label = state_.labels.Text(static_cast<LabelRef>(claim.label));
    event.client = static_cast<ClientRef>(claim.client);
    event.key = claim.lock.key();
    event.key_hash = state_.table.HashOf(event.key);
    event.owner = claim.owner();
    NameHolder(claim.lock, event);
    event.at = now;
    sink_->Take(event);
  });
}

LockResult Events::Deny(std::uint64_t hash, const LockEntry& lock, const LockRequest& request,
                        ClientRef client, DenialReason reason, TimeMs now) {
  ++state_.counts.denied;
  ++state_.recent.Touch(hash).denied;
  if (sink_ != nullptr) {
    Event event;
    event.kind = EventKind::kDenied;
    event.reason = reason;
    event.client = client;
    event.key = lock.key();
    event.key_hash = hash;
    event.owner = request.owner;
    NameHolder(lock, event);
    event.label = state_.LabelOf(request, event.key.bytes);
    event.at = now;
    sink_->Take(event);
  }
  return {LockStatus::kDenied, reason, 0};
}

void Events::EmitRefused(std::uint64_t hash, const LockEntry& lock, std::string_view owner,
                         ClientRef client, TimeMs now) {
  if (sink_ == nullptr) return;
  Event event;
  event.kind = EventKind::kRefused;
  event.client = client;
  event.key = lock.key();
  event.key_hash = hash;
  event.owner = owner;
  NameHolder(lock, event);
  event.label = state_.label_rules.LabelOf(event.key.bytes);
  event.at = now;
  sink_->Take(event);
}

void Events::SendOutcome(const Claim& place, const Resolution& resolution, TimeMs now) {
  if (notice_sink_ == nullptr) return;
  boost::container::static_vector<std::string_view, kMlockKeysMax> keys;
  if (const MultiLock* multi_lock = place.multi_lock()) {
    for (const Claim* claim : multi_lock->claims) keys.push_back(claim->lock.key().bytes);
  }
  const Claim& first = FirstClaim(place);
  const KeyName key = first.lock.key();
  notice_sink_->Take({.channel = place.channel()->name,
                      .outcome = resolution.kind,
                      .key = key,
                      .keys = keys,
                      .key_hash = state_.table.HashOf(key),
                      .owner = place.owner(),
                      .by = resolution.by,
                      .token = resolution.token,
                      .waited_ms = now - place.joined});
}

void Events::SendLoss(const Claim& hold, HoldEnd end, TimeMs now) {
  if (notice_sink_ == nullptr) return;
  const KeyName key = hold.lock.key();
  notice_sink_->Take({.channel = hold.channel()->name,
                      .loss = EventOf(end),
                      .key = key,
                      .key_hash = state_.table.HashOf(key),
                      .owner = hold.owner(),
                      .token = hold.token,
                      .held_ms = now - static_cast<TimeMs>(hold.since)});
}

void Events::EmitVacated(const LockEntry& lock, Cause cause, TimeMs now) {
  if (sink_ == nullptr || lock.has_plain_hold() || lock.is_mlock_next()) return;
  if (lock.contended != nullptr && lock.contended->slots.taken() > 0) return;
  Event event;
  event.kind = EventKind::kVacated;
  event.key = lock.key();
  event.key_hash = state_.table.HashOf(event.key);
  event.at = now;
  event.is_by_time = cause == Cause::kTime;
  sink_->Take(event);
}

void Answers::Answer(Pending& pending, const Resolution& resolution, Effects& effects) {
  if (pending.attachment == nullptr) return;
  Attachment& to = *pending.attachment;
  to.pending.erase(to.pending.iterator_to(pending));
  pending.attachment = nullptr;
  effects.resolutions.push_back(resolution);
  effects.resolutions.back().to = &to;
}

void Answers::AnswerPlace(Claim& place, const Resolution& resolution, Step step) {
  NotifyChannel* channel = place.channel();
  Pending& request = RequestOf(place);
  if (channel == nullptr) return Answer(request, resolution, step.effects);
  if (request.attachment == nullptr) return;
  channel->pending.erase(channel->pending.iterator_to(request));
  request.attachment = nullptr;
  rules_.events.SendOutcome(place, resolution, step.now);
}

}  // namespace fairlock::engine
