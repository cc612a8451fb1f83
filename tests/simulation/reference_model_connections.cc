// The reference model: connections that close, waits ended from outside, and grants that were never
// read.

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

// Rule 6: the place becomes absent before anything overdue is ended, so that it is not granted.
void ReferenceModel::Disconnect(int connection, TimeMs now, Outcome& outcome) {
  now_ = now;
  EndOverrides(now);
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    Keys touched;
    if (const auto watcher = At(index).FindWatcherOf(connection)) {
      touched = {index};
      RemoveAt(At(index).watchers, *watcher);
    } else if (const auto found = At(index).FindPlaceOf(connection)) {
      const ModelPlace place = At(index).line[*found];
      touched = place.keys;
      if (!LoseRequest(place, now)) RemovePlace(place);
    } else {
      continue;
    }
    Settle(touched, now, outcome);
    LookAgain(touched.front(), now, outcome);
  }
  LoseSessions(connection, now, outcome);
}

// Rule 9: sessions are lost in the order in which they were bound.
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
  ModelKey& key = At(key_index);
  ModelHold& hold = key.holds[index];
  hold.session_connection = kAbsent;
  if (*hold.session_grace_ms > 0) {
    hold.grace_end = After(now, *hold.session_grace_ms);
  } else {
    const ModelHold ended = hold;
    RemoveAt(key.holds, index);
    ++totals_.disconnected;
    Tell(engine::EventKind::kDisconnected, key_index, ended);
    TellLoss(key_index, ended, engine::EventKind::kDisconnected, outcome);
    Cool(key, ended, now);
  }
  Settle({key_index}, now, outcome);
  LookAgain(key_index, now, outcome);
}

void ReferenceModel::UndoGrant(Token token, TimeMs now, Outcome& outcome) {
  now_ = now;
  EndOverrides(now);
  Keys granted;
  Keys keys;
  bool is_confirmed = false;
  bool is_leaving = false;
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    const auto found = At(index).FindToken(token);
    if (!found) continue;
    const ModelHold& hold = At(index).holds[*found];
    granted = hold.keys;
    is_confirmed = is_confirmed || hold.is_confirmed;
    is_leaving = is_leaving || hold.is_leaving;
  }
  for (int key : granted) {
    if (At(key).FindToken(token)) keys.push_back(key);
  }
  if (keys.empty() || is_confirmed) return;
  outcome.number = 1;
  NoteOthers(keys, keys.front());
  const ModelHold hold = At(keys.front()).holds[*At(keys.front()).FindToken(token)];
  ModelPlace place;
  // A place cannot return to the queue if a part of it is already gone, or leaves.
  const bool returns = hold.came_from && keys.size() == granted.size() && !is_leaving;
  for (int key : keys) {
    const std::size_t index = *At(key).FindToken(token);
    const ModelHold ended = At(key).holds[index];
    RemoveAt(At(key).holds, index);
    Tell(engine::EventKind::kUndone, key, ended);
    if (!returns) {
      TellLoss(key, ended, engine::EventKind::kUndone, outcome);
      continue;
    }
    // If a LOCK of one key was repeated, only the hold may have changed; the place is still that of
    // the first LOCK.
    place = *ended.came_from;
    place.is_reserved = false;
    place.is_redis_way = ended.is_redis_way;
    place.lease_ms = hold.lease_ms;
    place.session_grace_ms = hold.session_grace_ms;
    place.channel = hold.channel;
    place.waits_on = hold.channel == kAbsent ? hold.client : ConnectionOfChannel(hold.channel);
    place.wait_end = hold.came_from->wait_end;
    place.meta = ended.meta;
    place.label = ended.label;
    place.connection = ended.client;
    AddPlace(key, place);
  }
  if (returns && IsOpen(place.channel)) {
    WaitAgain(place, now);
  } else if (returns && !LoseRequest(At(keys.front()).PlaceOf(place.owner), now)) {
    RemovePlace(place);
  }
  Settle(keys, now, outcome);
  LookAgain(keys.front(), now, outcome);
}

// Overdue holds are ended first, because that may make it the request's turn.
void ReferenceModel::Unblock(int connection, TimeMs now, Outcome& outcome) {
  now_ = now;
  EndOverrides(now);
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    const auto watched = At(index).FindWatcherOf(connection);
    const auto asked = At(index).FindPlaceOf(connection);
    if (!watched && !asked) continue;
    const Keys keys = asked ? At(index).line[*asked].keys : Keys{index};
    Settle(keys, now, outcome);
    if (const auto watcher = At(index).FindWatcherOf(connection)) {
      EndWatcher(index, *watcher, outcome);
      LookAgain(index, now, outcome);
    }
    if (const auto place = At(index).FindPlaceOf(connection)) {
      EndPlace(ModelPlace(At(index).line[*place]), now, outcome);
      LookAgain(keys.front(), now, outcome);
    }
  }
}

}  // namespace fairlock::simulation
