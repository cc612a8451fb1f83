// One key as the reference model sees it: who holds it, who stands in line, who waits for it to be
// free.
//
// Plain lists, searched from end to end; nothing is remembered that could be looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/engine/types.h"
#include "tests/simulation/call.h"

namespace fairlock::simulation {

struct ModelHold {
  int owner = kAbsent;
  Token token = 0;
  std::uint32_t limit = 1;
  TimeMs since = 0;
  TimeMs end = 0;
  DurationMs lease_ms = 0;  // the length on record
  int meta = kAbsent;
  int label = kAbsent;
  int client = kAbsent;  // a connection
};

struct ModelPlace {
  int owner = kAbsent;
  std::uint64_t arrival = 0;
  std::uint32_t limit = 1;
  TimeMs since = 0;
  TimeMs give_up = 0;
  DurationMs lease_ms = 0;
  int meta = kAbsent;
  int label = kAbsent;
  int connection = kAbsent;
};

struct ModelWatcher {
  std::uint64_t arrival = 0;
  Token newest_token = 0;  // of the holds whose end it waits for
  TimeMs give_up = 0;
  int connection = kAbsent;
};

// What is due on a key, and in which order: by time, then by class, then by token or arrival.
struct ModelEvent {
  enum class Class { kLease, kWait };  // in the order of rule 16
  TimeMs time = 0;
  Class event_class = Class::kLease;
  std::uint64_t order = 0;
  bool is_watcher = false;
  std::size_t index = 0;  // in the list that it concerns
};

struct ModelKey {
  std::vector<ModelHold> holds;  // by token
  std::vector<ModelPlace> line;  // by arrival
  std::vector<ModelWatcher> watchers;
  // Since the beginning.
  std::uint64_t acquired = 0;
  std::uint64_t granted_after_wait = 0;
  std::uint64_t denied = 0;
  std::uint64_t expired = 0;

  bool IsEmpty() const { return holds.empty() && line.empty() && watchers.empty(); }
  std::optional<std::size_t> FindHold(int owner) const;
  std::optional<std::size_t> FindPlace(int owner) const;
  std::optional<std::size_t> FindPlaceOf(int connection) const;
  std::optional<std::size_t> FindWatcherOf(int connection) const;
  // Rule 7: whether one more hold with this LIMIT is tolerated by all, itself included.
  bool HasRoomFor(std::uint32_t limit) const;
  Token NewestToken() const;
  std::uint32_t SmallestLimit() const;
  // The first thing to happen by `now`.
  std::optional<ModelEvent> FirstDue(TimeMs now) const;
};

}  // namespace fairlock::simulation
