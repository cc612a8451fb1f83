#include "tests/simulation/reference_model.h"

#include <algorithm>

#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::ResolutionKind;

ReferenceModel::ReferenceModel(const Setting& setting)
    : setting_(setting),
      default_lease_ms_(setting.engine.default_lease_ms),
      reconnect_grace_ms_(setting.engine.reconnect_grace_ms),
      overrides_(setting),
      keys_(setting.keys.size()),
      next_token_(setting.engine.first_token) {}

void ReferenceModel::Apply(const Call& call, TimeMs now, Outcome& outcome) {
  if (IsSetting(call.operation)) return ApplySetting(call, now, outcome);
  // Rule 16: a command first settles the key it names.
  Settle(call.key, now, outcome);
  switch (call.operation) {
    case Operation::kLock:
      return Lock(call, now, outcome);
    case Operation::kUnlock:
      return Unlock(call, now, outcome);
    case Operation::kRenew:
      return Renew(call, now, outcome);
    case Operation::kWait:
      return Wait(call, now, outcome);
    case Operation::kCancel:
      return Cancel(call, now, outcome);
    case Operation::kTransfer:
      return Transfer(call, now, outcome);
    case Operation::kBreak:
      return Break(call, now, outcome);
    case Operation::kExplain:
      return Explain(call, now, outcome);
    default:
      return Look(call, now, outcome);
  }
}

void ReferenceModel::ApplySetting(const Call& call, TimeMs now, Outcome& outcome) {
  switch (call.operation) {
    case Operation::kSetDefaultLease:
      default_lease_ms_ = call.lease_ms.value();
      return;
    case Operation::kSetReconnectGrace:
      reconnect_grace_ms_ = call.lease_ms.value();
      return;
    case Operation::kSetLimit:
      EndOverrides(now);
      outcome.status = overrides_.Set(call, now);
      if (outcome.status == 0) NoteLimitChange();
      return;
    default:
      EndOverrides(now);
      outcome.number = overrides_.Drop(call.pattern);
      if (outcome.number == 1) NoteLimitChange();
  }
}

void ReferenceModel::EndOverrides(TimeMs now) {
  if (overrides_.EndBy(now)) NoteLimitChange();
}

// Rule 3: a change of limits is one of the things after which lines are looked at again.
void ReferenceModel::NoteLimitChange() {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    keys_[i].limit_override = overrides_.LimitOf(static_cast<int>(i));
    keys_[i].is_unseen = !keys_[i].line.empty();
  }
}

bool ReferenceModel::HappenNext(int key_index, TimeMs now, Outcome& outcome) {
  EndOverrides(now);
  ModelKey& key = keys_[static_cast<std::size_t>(key_index)];
  const std::optional<ModelEvent> event = key.FirstDue(now);
  if (!event && key.is_unseen) {
    key.is_unseen = false;
    LookAgain(key_index, now, outcome);
    return true;
  }
  if (!event) return false;
  switch (event->event_class) {
    case ModelEvent::Class::kLease: {
      const ModelHold hold = key.holds[event->index];
      RemoveAt(key.holds, event->index);
      ++totals_.expired;
      ++key.expired;
      Cool(key, hold, now);
      break;
    }
    case ModelEvent::Class::kCooling:
      RemoveAt(key.cooling, event->index);
      break;
    case ModelEvent::Class::kAbsence:
      RemoveAt(key.line, event->index);
      break;
    case ModelEvent::Class::kWait:
      if (event->is_watcher) {
        EndWatcher(key_index, event->index, outcome);
      } else {
        EndPlace(key_index, event->index, now, outcome);
      }
  }
  LookAgain(key_index, now, outcome);
  return true;
}

void ReferenceModel::Cool(ModelKey& key, const ModelHold& hold, TimeMs now) {
  if (hold.cool_until == 0 || IsOver(hold.cool_until, now)) return;
  key.cooling.push_back({.mode = hold.mode, .token = hold.token, .end = hold.cool_until});
}

void ReferenceModel::EndWatcher(int key_index, std::size_t index, Outcome& outcome) {
  std::vector<ModelWatcher>& watchers = keys_[static_cast<std::size_t>(key_index)].watchers;
  const int connection = watchers[index].connection;
  outcome.answers.push_back({connection, key_index, ResolutionKind::kWatchTimedOut, 0});
  RemoveAt(watchers, index);
}

// Rule 4: with KEEP the place outlives the wait.
void ReferenceModel::EndPlace(int key_index, std::size_t index, TimeMs now, Outcome& outcome) {
  std::vector<ModelPlace>& line = keys_[static_cast<std::size_t>(key_index)].line;
  ModelPlace& place = line[index];
  outcome.answers.push_back({place.connection, key_index, ResolutionKind::kTimedOut, 0});
  ++totals_.timed_out;
  if (place.keep_ms > 0) {
    MakeAbsent(place, PlaceState::kKept, now);
  } else {
    RemoveAt(line, index);
  }
}

void ReferenceModel::MakeAbsent(ModelPlace& place, PlaceState state, TimeMs now) const {
  const bool is_kept = state == PlaceState::kKept;
  place.state = state;
  place.end = After(now, is_kept ? place.keep_ms : reconnect_grace_ms_);
}

void ReferenceModel::Settle(int key, TimeMs now, Outcome& outcome) {
  while (HappenNext(key, now, outcome)) {
  }
}

TimeMs ReferenceModel::NextDeadline() const {
  TimeMs next = overrides_.NextEnd();
  for (const ModelKey& key : keys_) next = std::min(next, key.NextDeadline());
  return next;
}

void ReferenceModel::LookAgain(int key, TimeMs now, Outcome& outcome) {
  ServeWatchers(key, outcome);
  ServeLine(key, now, outcome);
  ModelKey& served = keys_[static_cast<std::size_t>(key)];
  if (served.line.empty()) served.is_unseen = false;
}

void ReferenceModel::ServeWatchers(int key_index, Outcome& outcome) {
  ModelKey& key = keys_[static_cast<std::size_t>(key_index)];
  for (std::size_t i = 0; i < key.watchers.size();) {
    const ModelWatcher watcher = key.watchers[i];
    const bool is_over = std::ranges::none_of(
        key.holds, [&](const ModelHold& hold) { return hold.token <= watcher.newest_token; });
    if (is_over) {
      outcome.answers.push_back({watcher.connection, key_index, ResolutionKind::kWatchEnded, 0});
      RemoveAt(key.watchers, i);
    } else {
      ++i;
    }
  }
}

// Rules 2, 3, 4 and 6: in order, until somebody finds no room; absent ones get
// a reservation.
void ReferenceModel::ServeLine(int key_index, TimeMs now, Outcome& outcome) {
  ModelKey& key = keys_[static_cast<std::size_t>(key_index)];
  for (std::size_t i = 0; i < key.line.size();) {
    ModelPlace& place = key.line[i];
    if (place.state == PlaceState::kPassedOver || place.is_reserved) {
      ++i;
      continue;
    }
    if (!key.HasRoomFor(place.mode)) return;
    if (place.state == PlaceState::kKept) {
      place.is_reserved = true;
      ++i;
      continue;
    }
    const ModelPlace granted = place;
    RemoveAt(key.line, i);
    const Token token = GiveHold(key, granted, now);
    key.holds.back().came_from = granted;
    ++totals_.granted_after_wait;
    ++key.granted_after_wait;
    outcome.answers.push_back({granted.connection, key_index, ResolutionKind::kGranted, token});
  }
}

// Counting
std::uint64_t ReferenceModel::CountLocks() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(keys_, [](const ModelKey& key) { return !key.IsEmpty(); }));
}

std::uint64_t ReferenceModel::CountLocks(std::uint8_t db) const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (setting_.keys[i].db == db && !keys_[i].IsEmpty()) ++count;
  }
  return count;
}

std::uint64_t ReferenceModel::CountWaiting() const {
  std::uint64_t count = 0;
  for (const ModelKey& key : keys_) count += key.line.size() + key.watchers.size();
  return count;
}

engine::EngineCounts ReferenceModel::Counts() const {
  engine::EngineCounts counts = totals_;
  counts.locks = CountLocks();
  for (const ModelKey& key : keys_) {
    counts.holds += key.holds.size();
    counts.places += key.line.size();
    counts.watchers += key.watchers.size();
    counts.cooling += key.cooling.size();
  }
  counts.newest_token = next_token_ - 1;
  return counts;
}

}  // namespace fairlock::simulation
