#include "server/command/locks/event_names.h"

#include <algorithm>
#include <functional>
#include <span>

#include "server/command/locks/lock_message.h"

namespace fairlock::command {

namespace {

using engine::DenialReason;
using engine::EventKind;

constexpr auto kLastKind = EventKind::kLeaving;
constexpr auto kLastReason = DenialReason::kLeaving;

template <typename Visit>
void VisitKinds(Visit visit) {
  for (int kind = 0; kind <= static_cast<int>(kLastKind); ++kind) {
    visit(static_cast<EventKind>(kind));
  }
}

}  // namespace

std::optional<EventKind> EventKindOf(std::string_view name, bool is_replaced) {
  std::optional<EventKind> found;
  const EventKind other = is_replaced ? EventKind::kCancelled : EventKind::kReplaced;
  VisitKinds([&](EventKind kind) {
    if (EventName(kind) == name && kind != other) found = kind;
  });
  return found;
}

DenialReason DenialReasonOf(std::string_view name) {
  if (name.empty()) return DenialReason::kNone;
  for (int reason = 0; reason <= static_cast<int>(kLastReason); ++reason) {
    const auto found = static_cast<DenialReason>(reason);
    if (EventReason(EventKind::kDenied, found) == name) return found;
  }
  return DenialReason::kNone;
}

std::optional<record::EventKinds> EventKindsIn(std::string_view names) {
  record::EventKinds kinds({});
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    bool is_known = false;
    VisitKinds([&](EventKind kind) {
      if (EventName(kind) != name) return;
      kinds.Add(kind);
      is_known = true;
    });
    if (!is_known) return std::nullopt;
  }
  return kinds;
}

std::string AllEventNames() {
  std::string names;
  VisitKinds([&](EventKind kind) {
    const std::string_view name = EventName(kind);
    if (names.find(name) != std::string::npos) return;
    names.append(names.empty() ? "" : ", ").append(name);
  });
  return names;
}

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
