#include "server/command/locks/live_events.h"

#include <algorithm>
#include <functional>
#include <span>

namespace fairlock::command {

namespace {

using record::PastEvent;

// After a restart, the clocks may have moved against each other.
constexpr engine::DurationMs kSameMs = 5;

bool IsAsked(const record::HistoryQuery& query, const PastEvent& event) {
  return query.kinds.Has(event.kind) && event.at >= query.since && event.at <= query.until &&
         (!query.owner || event.owner == *query.owner);
}

// `events` are the newest first.
bool IsThere(std::span<const PastEvent> events, const PastEvent& event) {
  auto other = std::ranges::lower_bound(events, event.at + kSameMs, std::greater(), &PastEvent::at);
  for (; other != events.end() && other->at >= event.at - kSameMs; ++other) {
    if (other->kind == event.kind && other->owner == event.owner) return true;
  }
  return false;
}

}  // namespace

void AddLiveEvents(engine::LockEngine& engine, const record::HistoryQuery& query,
                   const record::KnownSince& known, engine::Step step, record::HistoryPage& page) {
  if (!query.key || page.next_before || page.next_until) return;
  const std::size_t known_count = page.events.size();
  const auto add = [&](engine::EventKind kind, const auto& claim, engine::Token token) {
    PastEvent event;
    event.kind = kind;
    event.key = *query.key;
    event.owner = claim.owner;
    event.token = token;
    event.at = event.last_at = claim.since;
    event.is_of_lock = true;
    const bool has_room = page.events.size() < query.count_max;
    if (has_room && event.at < known.ordinary && IsAsked(query, event) &&
        !IsThere(std::span(page.events).first(known_count), event)) {
      page.events.push_back(event);
    }
  };
  const engine::LockInfo lock = engine.inspection().Inspect(*query.key, kLiveEventsMax / 2, step);
  for (const engine::HolderInfo& holder : lock.holders) {
    add(engine::EventKind::kGranted, holder, holder.token);
  }
  for (const engine::PlaceInfo& place :
       engine.inspection().Queue(*query.key, 0, kLiveEventsMax / 2, step)) {
    add(engine::EventKind::kQueued, place, 0);
  }
  std::ranges::stable_sort(page.events, std::greater(), &PastEvent::at);
}

}  // namespace fairlock::command
