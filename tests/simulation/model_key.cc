#include "tests/simulation/model_key.h"

#include <algorithm>
#include <tuple>

namespace fairlock::simulation {

std::optional<std::size_t> ModelKey::FindHold(int owner) const {
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (holds[i].owner == owner) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> ModelKey::FindPlace(int owner) const {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i].owner == owner) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> ModelKey::FindPlaceOf(int connection) const {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i].connection == connection) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> ModelKey::FindWatcherOf(int connection) const {
  for (std::size_t i = 0; i < watchers.size(); ++i) {
    if (watchers[i].connection == connection) return i;
  }
  return std::nullopt;
}

bool ModelKey::HasRoomFor(std::uint32_t limit) const {
  const std::size_t holds_then = holds.size() + 1;
  if (holds_then > limit) return false;
  return std::ranges::all_of(holds,
                             [&](const ModelHold& hold) { return holds_then <= hold.limit; });
}

Token ModelKey::NewestToken() const {
  Token newest = 0;
  for (const ModelHold& hold : holds) newest = std::max(newest, hold.token);
  return newest;
}

std::uint32_t ModelKey::SmallestLimit() const {
  if (holds.empty()) return 1;
  std::uint32_t smallest = holds.front().limit;
  for (const ModelHold& hold : holds) smallest = std::min(smallest, hold.limit);
  return smallest;
}

std::optional<ModelEvent> ModelKey::FirstDue(TimeMs now) const {
  std::optional<ModelEvent> first;
  const auto consider = [&](const ModelEvent& event) {
    if (!IsOver(event.time, now)) return;
    const auto rank = [](const ModelEvent& e) {
      return std::tuple(e.time, e.event_class, e.order);
    };
    if (!first || rank(event) < rank(*first)) first = event;
  };
  using Class = ModelEvent::Class;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    consider({holds[i].end, Class::kLease, holds[i].token, false, i});
  }
  for (std::size_t i = 0; i < line.size(); ++i) {
    consider({line[i].give_up, Class::kWait, line[i].arrival, false, i});
  }
  for (std::size_t i = 0; i < watchers.size(); ++i) {
    consider({watchers[i].give_up, Class::kWait, watchers[i].arrival, true, i});
  }
  return first;
}

}  // namespace fairlock::simulation
