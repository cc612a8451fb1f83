// Events for tests of the history.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/record/history.h"

namespace fairlock::record {

inline std::uint64_t HashOf(std::string_view key) { return std::hash<std::string_view>()(key); }

inline engine::Event EventOf(engine::EventKind kind, std::string_view key, std::string_view owner,
                             engine::TimeMs at, engine::Token token = 0) {
  engine::Event event;
  event.kind = kind;
  event.key = {0, key};
  event.key_hash = HashOf(key);
  event.owner = owner;
  event.at = at;
  event.token = token;
  return event;
}

inline engine::Event Denial(std::string_view key, std::string_view owner, engine::TimeMs at,
                            std::string_view holder = "holder", engine::Token holder_token = 7) {
  engine::Event event = EventOf(engine::EventKind::kDenied, key, owner, at);
  event.reason = engine::DenialReason::kHeld;
  event.other = holder;
  event.other_token = holder_token;
  return event;
}

inline HistoryQuery Of(std::string_view key) {
  HistoryQuery query;
  query.key = engine::KeyName{0, key, HashOf(key)};
  return query;
}

inline std::string OwnersOf(const HistoryPage& page) {
  std::string owners;
  for (const PastEvent& event : page.events) owners += std::string(event.owner) + " ";
  return owners;
}

}  // namespace fairlock::record
