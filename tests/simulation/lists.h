// Helpers for the plain lists of the model and the ledger.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fairlock::simulation {

template <typename Entry>
void RemoveAt(std::vector<Entry>& list, std::size_t index) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
}

template <typename List>
auto FindOwner(List& list, int owner) {
  return std::ranges::find_if(list, [&](const auto& entry) { return entry.owner == owner; });
}

template <typename List>
auto FindConnection(List& list, int connection) {
  return std::ranges::find_if(list,
                              [&](const auto& entry) { return entry.connection == connection; });
}

// The place whose request waits on that connection, which is not a channel.
template <typename Line>
auto FindWaiting(Line& line, int connection) {
  return std::ranges::find_if(line, [&](const auto& place) {
    return place.connection == connection && place.state == decltype(place.state)::kWaiting;
  });
}

}  // namespace fairlock::simulation
