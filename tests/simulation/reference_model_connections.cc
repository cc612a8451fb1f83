// The reference model: connections that close, waits ended from outside, grants
// that nobody read.

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

// Rule 6: the place is absent before anything overdue is done, so that it is
// not granted.
void ReferenceModel::Disconnect(int connection, TimeMs now, Outcome& outcome) {
  EndOverrides(now);
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    ModelKey& key = keys_[static_cast<std::size_t>(index)];
    const auto watcher = key.FindWatcherOf(connection);
    const auto place = key.FindPlaceOf(connection);
    if (!watcher && !place) continue;
    if (watcher) RemoveAt(key.watchers, *watcher);
    if (place && !LoseRequest(key.line[*place], now)) RemoveAt(key.line, *place);
    Settle(index, now, outcome);
    LookAgain(index, now, outcome);
  }
  LoseSessions(connection, now, outcome);
}

bool ReferenceModel::LoseRequest(ModelPlace& place, TimeMs now) const {
  const bool is_kept = place.keep_ms > 0;
  if (!is_kept && reconnect_grace_ms_ == 0) return false;
  MakeAbsent(place, is_kept ? PlaceState::kKept : PlaceState::kPassedOver, now);
  return true;
}

// Rule 9. In the order in which they were bound.
void ReferenceModel::LoseSessions(int connection, TimeMs now, Outcome& outcome) {
  while (true) {
    int first_key = kAbsent;
    std::size_t first = 0;
    std::uint64_t first_bound = ~0ULL;
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      for (std::size_t i = 0; i < keys_[k].holds.size(); ++i) {
        const ModelHold& hold = keys_[k].holds[i];
        if (hold.session_connection != connection || hold.bound >= first_bound) continue;
        first_key = static_cast<int>(k);
        first = i;
        first_bound = hold.bound;
      }
    }
    if (first_key == kAbsent) return;
    LoseSession(first_key, first, now, outcome);
  }
}

void ReferenceModel::LoseSession(int key_index, std::size_t index, TimeMs now, Outcome& outcome) {
  ModelKey& key = keys_[static_cast<std::size_t>(key_index)];
  ModelHold& hold = key.holds[index];
  hold.session_connection = kAbsent;
  if (*hold.session_grace_ms > 0) {
    hold.grace_end = After(now, *hold.session_grace_ms);
  } else {
    const ModelHold ended = hold;
    RemoveAt(key.holds, index);
    ++totals_.disconnected;
    Cool(key, ended, now);
  }
  Settle(key_index, now, outcome);
  LookAgain(key_index, now, outcome);
}

void ReferenceModel::UndoGrant(int key_index, Token token, TimeMs now, Outcome& outcome) {
  EndOverrides(now);
  ModelKey& key = keys_[static_cast<std::size_t>(key_index)];
  const auto index = key.FindToken(token);
  if (!index || key.holds[*index].is_confirmed) return;
  outcome.number = 1;
  const ModelHold hold = key.holds[*index];
  RemoveAt(key.holds, *index);
  if (hold.came_from) {
    ModelPlace place = *hold.came_from;
    place.is_reserved = false;
    place.meta = hold.meta;
    place.label = hold.label;
    place.connection = hold.client;
    if (LoseRequest(place, now)) key.Insert(place);
  }
  Settle(key_index, now, outcome);
  LookAgain(key_index, now, outcome);
}

// What is overdue comes first: its turn may have come.
void ReferenceModel::Unblock(int connection, TimeMs now, Outcome& outcome) {
  EndOverrides(now);
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    ModelKey& key = keys_[static_cast<std::size_t>(index)];
    if (!key.FindWatcherOf(connection) && !key.FindPlaceOf(connection)) continue;
    Settle(index, now, outcome);
    if (const auto watcher = key.FindWatcherOf(connection)) EndWatcher(index, *watcher, outcome);
    if (const auto place = key.FindPlaceOf(connection)) EndPlace(index, *place, now, outcome);
    LookAgain(index, now, outcome);
  }
}

}  // namespace fairlock::simulation
