#include "tests/simulation/model_key.h"

#include <algorithm>

namespace fairlock::simulation {
namespace {

template <typename List, typename Predicate>
std::optional<std::size_t> IndexOf(const List& list, Predicate&& is_it) {
  const auto found = std::ranges::find_if(list, is_it);
  if (found == list.end()) return std::nullopt;
  return static_cast<std::size_t>(found - list.begin());
}

}  // namespace

std::optional<std::size_t> ModelKey::FindHold(int owner) const {
  return IndexOf(holds, [&](const ModelHold& hold) { return hold.owner == owner; });
}

std::optional<std::size_t> ModelKey::FindToken(Token token) const {
  return IndexOf(holds, [&](const ModelHold& hold) { return hold.token == token; });
}

std::optional<std::size_t> ModelKey::FindPlace(int owner) const {
  return IndexOf(line, [&](const ModelPlace& place) { return place.owner == owner; });
}

std::optional<std::size_t> ModelKey::FindPlaceOf(int connection) const {
  return IndexOf(line, [&](const ModelPlace& place) {
    return place.waits_on == connection && place.state == PlaceState::kWaiting;
  });
}

std::optional<std::size_t> ModelKey::FindWatcherOf(int connection) const {
  return IndexOf(watchers,
                 [&](const ModelWatcher& watcher) { return watcher.connection == connection; });
}

std::vector<Mode> ModelKey::HeldRooms() const {
  std::vector<Mode> rooms;
  for (const ModelHold& hold : holds) rooms.push_back(hold.mode);
  return rooms;
}

std::vector<Mode> ModelKey::HeldAndReservedRooms() const {
  std::vector<Mode> rooms = HeldRooms();
  for (const ModelPlace& place : line) {
    if (place.is_reserved) rooms.push_back(place.mode);
  }
  return rooms;
}

std::vector<Mode> ModelKey::AllRooms() const {
  std::vector<Mode> rooms = HeldAndReservedRooms();
  for (const ModelCooling& room : cooling) rooms.push_back(room.mode);
  return rooms;
}

bool ModelKey::IsAnyoneAhead(std::size_t index) const {
  for (std::size_t i = 0; i < std::min(index, line.size()); ++i) {
    if (line[i].state != PlaceState::kPassedOver && !line[i].is_reserved) return true;
  }
  return false;
}

std::size_t ModelKey::CountStandingBefore(std::size_t index) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < index; ++i) {
    if (line[i].state != PlaceState::kPassedOver) ++count;
  }
  return count;
}

std::int64_t ModelKey::PositionOf(int owner) const {
  const auto index = FindPlace(owner);
  if (!index || line[*index].is_mark) return kAbsent;
  return static_cast<std::int64_t>(CountStandingBefore(*index)) + 1;
}

std::size_t ModelKey::CountSeen() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](const ModelPlace& place) { return !place.is_mark; }));
}

const ModelPlace* ModelKey::FirstStanding() const {
  const auto first = std::ranges::find_if(
      line, [](const ModelPlace& place) { return place.state != PlaceState::kPassedOver; });
  return first == line.end() ? nullptr : &*first;
}

std::size_t ModelKey::CountReserved() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](const ModelPlace& place) { return place.is_reserved; }));
}

DurationMs ModelKey::CoolingLeft(TimeMs now) const {
  DurationMs left_ms = 0;
  for (const ModelCooling& room : cooling) left_ms = std::max(left_ms, room.end - now);
  return left_ms;
}

void ModelKey::Insert(const ModelPlace& place) {
  const auto behind = std::ranges::find_if(
      line, [&](const ModelPlace& other) { return other.arrival > place.arrival; });
  line.insert(behind, place);
}

Token ModelKey::NewestToken() const {
  Token newest = 0;
  for (const ModelHold& hold : holds) newest = std::max(newest, hold.token);
  return newest;
}

std::uint32_t ModelKey::SmallestLimit() const {
  const std::vector<Mode> rooms = AllRooms();
  if (rooms.empty()) return 1;
  std::uint32_t smallest = rooms.front().limit;
  for (const Mode& room : rooms) smallest = std::min(smallest, room.limit);
  return smallest;
}

std::optional<ModelEvent> ModelKey::FirstDue(TimeMs now) const {
  std::optional<ModelEvent> first;
  const auto consider = [&](const ModelEvent& event) {
    if (!IsOver(event.time, now)) return;
    if (!first || event.Rank() < first->Rank()) first = event;
  };
  using Class = ModelEvent::Class;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const std::uint64_t order = holds[i].token * engine::kMlockKeysMax + holds[i].rank;
    consider({holds[i].end(), Class::kLease, order, false, i});
  }
  for (std::size_t i = 0; i < cooling.size(); ++i) {
    const std::uint64_t order = cooling[i].token * engine::kMlockKeysMax + cooling[i].rank;
    consider({cooling[i].end, Class::kCooling, order, false, i});
  }
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_waiting = line[i].state == PlaceState::kWaiting;
    consider({line[i].end, is_waiting ? Class::kWait : Class::kAbsence, line[i].arrival, false, i});
  }
  for (std::size_t i = 0; i < watchers.size(); ++i) {
    consider({watchers[i].give_up, Class::kWait, watchers[i].arrival, true, i});
  }
  return first;
}

TimeMs ModelKey::NextDeadline() const {
  TimeMs next = is_unseen ? 0 : engine::kNever;
  for (const ModelHold& hold : holds) next = std::min(next, hold.end());
  for (const ModelCooling& room : cooling) next = std::min(next, room.end);
  for (const ModelPlace& place : line) next = std::min(next, place.end);
  for (const ModelWatcher& watcher : watchers) next = std::min(next, watcher.give_up);
  return next;
}

}  // namespace fairlock::simulation
