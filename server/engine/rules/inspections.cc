#include <algorithm>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

namespace {

// Positions up to this one are counted exactly.
constexpr std::uint64_t kExactPositions = 1000;

std::optional<DurationMs> TimeLeft(const TimerNode& node, TimeMs now) {
  if (node.deadline() >= kNever) return std::nullopt;
  return std::max<DurationMs>(node.deadline() - now, 0);
}

std::size_t CountKeys(const Claim& claim) {
  return claim.multi_lock() != nullptr ? claim.multi_lock()->key_count() : 1;
}

std::string_view ChannelName(const Claim& claim) {
  const NotifyChannel* channel = claim.channel();
  return channel == nullptr ? std::string_view() : std::string_view(channel->name);
}

// Whether the lock has a place other than marked ones, which do not count yet. REQUIRES: it has a
// queue.
bool HasPlace(const LockEntry& lock) {
  if (lock.active_count() > 0) return true;
  const auto& queue = lock.contended->queue;
  return std::any_of(queue.begin(), queue.end(),
                     [](const Claim& place) { return place.state != ClaimState::kMarked; });
}

DurationMs Since(const Hold& hold, TimeMs now) { return now - static_cast<TimeMs>(hold.since); }

}  // namespace

bool Inspections::Check(const KeyName& key, Token token, Step step) {
  const LockEntry* lock = rules_.expiry.FindCurrent(state_.table.HashOf(key), key, step);
  return lock != nullptr && Holds::FindToken(*lock, token) != nullptr;
}

template <typename Visit>
void Inspections::VisitHolds(const LockEntry& lock, Visit&& visit) {
  if (lock.has_plain_hold()) visit(lock.plain);
  if (lock.contended == nullptr) return;
  for (const Claim& claim : lock.contended->holds) visit(claim);
}

HolderInfo Inspections::Describe(const Hold& hold, TimeMs now) const {
  HolderInfo info;
  info.owner = OwnerOf(hold);
  info.label = state_.labels.Text(hold.label);
  info.token = hold.token;
  info.since = static_cast<TimeMs>(hold.since);
  info.held_ms = Since(hold, now);
  info.ttl_ms = TimeLeft(hold, now);
  info.lease_ms = static_cast<DurationMs>(hold.lease_ms);
  info.mode = ModeOf(hold);
  info.meta = MetaOf(hold).value_or(std::string_view());
  info.is_leaving = hold.is_leaving();
  if (hold.is_claim()) {
    const auto& claim = static_cast<const Claim&>(hold);
    info.channel = ChannelName(claim);
    info.has_session = claim.has_session();
    info.is_session_open = claim.has_session() && claim.attachment != nullptr;
    info.key_count = CountKeys(claim);
  }
  info.client = &state_.clients.Identity(hold.client);
  return info;
}

PlaceInfo Inspections::Describe(const Claim& place, std::uint64_t position, TimeMs now) const {
  PlaceInfo info;
  info.owner = place.owner();
  info.meta = place.meta().value_or(std::string_view());
  info.channel = ChannelName(place);
  info.label = state_.labels.Text(place.label);
  info.position = position;
  info.since = place.joined;
  info.waited_ms = now - place.joined;
  info.is_waiting = place.state == ClaimState::kWaiting;
  (info.is_waiting ? info.wait_left_ms : info.keep_left_ms) = TimeLeft(TimerOf(place), now);
  info.is_reserved = place.is_reserved;
  info.is_redis_way = place.is_redis_way();
  info.key_count = CountKeys(place);
  info.mode = place.mode;
  info.client = &state_.clients.Identity(place.client);
  return info;
}

std::uint64_t Inspections::CountHolders(const KeyName& key, Step step) {
  const LockEntry* lock = rules_.expiry.FindCurrent(state_.table.HashOf(key), key, step);
  return lock == nullptr ? 0 : lock->hold_count();
}

std::uint64_t Inspections::LeaseStamp(const KeyName& key, Step step) {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  std::uint64_t stamp = 0;
  const LockEntry* lock = rules_.expiry.FindCurrent(state_.table.HashOf(key), key, step);
  if (lock == nullptr) return stamp;
  VisitHolds(*lock, [&](const Hold& hold) {
    stamp = (stamp ^ static_cast<std::uint64_t>(hold.deadline())) * kSpread;
  });
  return stamp;
}

bool Inspections::IsHeldBy(const KeyName& key, std::string_view owner, Step step) {
  LockEntry* lock = rules_.expiry.FindCurrent(state_.table.HashOf(key), key, step);
  return lock != nullptr && rules_.holds.Find(*lock, owner, std::nullopt) != nullptr;
}

std::uint64_t Inspections::PositionOf(const Claim& place) const {
  const auto& active = place.lock.contended->active;
  std::uint64_t position = 1;
  for (const Claim& other : active) {
    if (other.number >= place.number) return position;
    if (++position > kExactPositions) return place.number - active.front().number + 1;
  }
  return position;
}

std::optional<std::uint64_t> Inspections::Position(const KeyName& key, std::string_view owner,
                                                   Step step) {
  LockEntry* lock = rules_.expiry.FindCurrent(state_.table.HashOf(key), key, step);
  if (lock == nullptr) return std::nullopt;
  if (rules_.holds.Find(*lock, owner, std::nullopt) != nullptr) return 0;
  if (lock->contended == nullptr) return std::nullopt;
  const Claim* place = state_.table.FindClaim(*lock, owner);
  if (place == nullptr || place->state == ClaimState::kMarked) return std::nullopt;
  return PositionOf(*place);
}

const ClientIdentity* Inspections::ClientOfPlace(const KeyName& key, std::string_view owner,
                                                 Step step) {
  LockEntry* lock = rules_.expiry.FindCurrent(state_.table.HashOf(key), key, step);
  if (lock == nullptr || lock->contended == nullptr) return nullptr;
  const Claim* place = state_.table.FindClaim(*lock, owner);
  return place == nullptr || !place->is_place() ? nullptr : &state_.clients.Identity(place->client);
}

std::vector<HolderInfo> Inspections::DescribeHolders(const LockEntry& lock, std::size_t holders_max,
                                                     TimeMs now) const {
  std::vector<HolderInfo> holders;
  VisitHolds(lock, [&](const Hold& hold) {
    if (holders.size() < holders_max) holders.push_back(Describe(hold, now));
  });
  return holders;
}

void Inspections::DescribeSlots(const ContendedLock& contended, LockInfo& info, TimeMs now) {
  info.limit = std::max(contended.slots.smallest_limit(), 1U);
  info.is_shared = !contended.holds.empty() && contended.holds.front().mode.is_shared;
  info.reserved_count = contended.reserved;
  for (const Cooldown& cooldown : contended.cooldowns) {
    info.cooling_ms = std::max(info.cooling_ms, cooldown.deadline() - now);
  }
}

LockInfo Inspections::Inspect(const KeyName& key, std::size_t holders_max, Step step) {
  const std::uint64_t hash = state_.table.HashOf(key);
  const LockEntry* lock = rules_.expiry.FindCurrent(hash, key, step);
  LockInfo info;
  info.limit_override = Limits::LimitOf(state_, key);
  if (lock != nullptr) {
    info.holder_count = lock->hold_count();
    info.waiter_count = lock->active_count();
    info.holders = DescribeHolders(*lock, holders_max, step.now);
    if (lock->contended != nullptr) DescribeSlots(*lock->contended, info, step.now);
  }
  info.counters.acquired = info.holder_count;
  if (const RecentKey* recent = state_.recent.Find(hash)) {
    info.counters.acquired += recent->ended;
    info.counters.granted_after_wait = recent->granted_after_wait;
    info.counters.denied = recent->denied;
    info.counters.expired = recent->expired;
    if (recent->hold_mean_ms >= 0) {
      info.counters.hold_mean_ms = static_cast<DurationMs>(recent->hold_mean_ms);
    }
    if (recent->wait_mean_ms >= 0) {
      info.counters.wait_mean_ms = static_cast<DurationMs>(recent->wait_mean_ms);
    }
  }
  return info;
}

Explanation Inspections::Explain(const KeyName& key, std::string_view owner, Step step) {
  const std::uint64_t hash = state_.table.HashOf(key);
  LockEntry* lock = rules_.expiry.FindCurrent(hash, key, step);
  Explanation explanation;
  if (lock == nullptr) return explanation;
  explanation.waiter_count = lock->active_count();
  explanation.holders = DescribeHolders(*lock, 16, step.now);
  if (const Hold* hold = rules_.holds.Find(*lock, owner, std::nullopt)) {
    explanation.ttl_ms = TimeLeft(*hold, step.now);
    return explanation;
  }
  TimeMs first_end = kNever;
  VisitHolds(*lock, [&](const Hold& hold) { first_end = std::min(first_end, hold.deadline()); });
  if (first_end < kNever) explanation.ttl_ms = std::max<DurationMs>(first_end - step.now, 0);
  const Claim* place = lock->contended == nullptr ? nullptr : state_.table.FindClaim(*lock, owner);
  if (place == nullptr || place->state == ClaimState::kMarked) return explanation;
  explanation.position = PositionOf(*place);
  const RecentKey* recent = state_.recent.Find(hash);
  if (recent != nullptr && recent->hold_mean_ms >= 0) {
    std::uint32_t limit = place->mode.limit;
    if (place->mode.is_limit_given)
      limit = std::max(Limits::LimitOf(state_, key).value_or(limit), 1U);
    explanation.eta_ms = static_cast<DurationMs>(static_cast<double>(*explanation.position) *
                                                 static_cast<double>(recent->hold_mean_ms) / limit);
  }
  return explanation;
}

std::vector<PlaceInfo> Inspections::Queue(const KeyName& key, std::uint64_t start,
                                          std::uint64_t count, Step step) {
  const LockEntry* lock = rules_.expiry.FindCurrent(state_.table.HashOf(key), key, step);
  std::vector<PlaceInfo> places;
  if (lock == nullptr || lock->contended == nullptr) return places;
  std::uint64_t index = 0;
  std::uint64_t position = 1;
  for (const Claim& place : lock->contended->queue) {
    if (places.size() >= count) break;
    if (place.state == ClaimState::kMarked) continue;
    if (index++ >= start) places.push_back(Describe(place, position, step.now));
    if (place.is_active()) ++position;
  }
  return places;
}

LockSummary Inspections::Summarize(const LockEntry& lock, TimeMs now) const {
  LockSummary summary;
  summary.key = lock.key();
  summary.holder_count = lock.hold_count();
  summary.waiter_count = lock.active_count();
  if (const Hold* oldest = lock.oldest_hold()) {
    summary.oldest_hold_ms = Since(*oldest, now);
    summary.label = state_.labels.Text(oldest->label);
    summary.first_owner = OwnerOf(*oldest);
  }
  if (lock.contended != nullptr) {
    const auto& active = lock.contended->active;
    if (!active.empty()) summary.longest_wait_ms = now - active.front().joined;
    summary.limit = std::max(lock.contended->slots.smallest_limit(), 1U);
  }
  return summary;
}

bool Inspections::Passes(const LockFilter& filter, const LockEntry& lock,
                         const LockSummary& summary) const {
  if (filter.db && *filter.db != summary.key.db) return false;
  if (filter.wait_ms_min) {
    if (summary.longest_wait_ms < *filter.wait_ms_min || !HasPlace(lock)) return false;
  }
  if (filter.hold_ms_min &&
      (summary.holder_count == 0 || summary.oldest_hold_ms < *filter.hold_ms_min)) {
    return false;
  }
  if (filter.label && *filter.label != summary.label) return false;
  if (filter.owner) {
    const bool is_plain_holder = lock.has_plain_hold() && lock.plain_owner() == *filter.owner;
    const Claim* claim =
        lock.contended == nullptr ? nullptr : state_.table.FindClaim(lock, *filter.owner);
    const bool has_claim = claim != nullptr && claim->state != ClaimState::kMarked;
    if (!is_plain_holder && !has_claim) return false;
  }
  if (filter.is_endless) {
    bool is_any_endless = false;
    VisitHolds(lock,
               [&](const Hold& hold) { is_any_endless |= Holds::LeaseEndOf(hold) >= kNever; });
    if (!is_any_endless) return false;
  }
  if (filter.glob == nullptr) return true;
  std::uint64_t compared = 0;
  const bool matches = filter.glob->Matches(summary.key.bytes, compared);
  if (filter.budget != nullptr) filter.budget->Charge(compared);
  return matches;
}

std::uint64_t Inspections::Scan(std::uint64_t cursor, std::size_t count, const LockFilter& filter,
                                TimeMs now,
                                const std::function<void(const LockSummary&)>& visit) const {
  std::size_t looked_at = 0;
  const auto look_at = [&](const LockEntry& lock) {
    ++looked_at;
    if (filter.budget != nullptr) filter.budget->ChargeLook();
    const LockSummary summary = Summarize(lock, now);
    if (Passes(filter, lock, summary)) visit(summary);
  };
  const auto is_page_full = [&] {
    return looked_at >= count || (filter.budget != nullptr && filter.budget->is_spent());
  };
  if (filter.wait_ms_min) {
    for (auto queue = state_.queues.lower_bound(cursor); queue != state_.queues.end(); ++queue) {
      if (looked_at > 0 && is_page_full()) return queue->queue_number;
      look_at(queue->queue.front().lock);
    }
    // A queue that moves to the front during the walk returns to the end soon; until then, the last
    // page shows it.
    const std::uint64_t end = std::min(cursor, EngineState::kFirstQueueNumber);
    for (const ContendedLock& queue : state_.queues) {
      if (queue.queue_number >= end) break;
      look_at(queue.queue.front().lock);
    }
    return 0;
  }
  do {
    cursor = state_.table.ScanGroup(cursor, look_at);
  } while (cursor != 0 && !is_page_full());
  return cursor;
}

std::optional<AwaitedLock> Inspections::AwaitedBy(const Attachment& attachment) {
  if (attachment.pending.empty()) return std::nullopt;
  const Pending& pending = attachment.pending.front();
  if (pending.pending_kind == PendingKind::kWatcher) {
    return AwaitedLock{static_cast<const Watcher&>(pending).lock.key(), std::nullopt};
  }
  const Claim& place = pending.pending_kind == PendingKind::kMultiLock
                           ? *static_cast<const MultiLock&>(pending).claims.front()
                           : static_cast<const Claim&>(pending);
  return AwaitedLock{place.lock.key(), place.joined};
}

}  // namespace fairlock::engine
