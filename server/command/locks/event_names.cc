#include "server/command/locks/event_names.h"

#include <algorithm>

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

}  // namespace fairlock::command
