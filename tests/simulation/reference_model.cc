#include "tests/simulation/reference_model.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::EventKind;
using engine::ResolutionKind;

ReferenceModel::ReferenceModel(const Setting& setting)
    : setting_(setting),
      default_lease_ms_(setting.engine.default_lease_ms),
      reconnect_grace_ms_(setting.engine.reconnect_grace_ms),
      overrides_(setting),
      keys_(setting.keys.size()),
      next_token_(setting.engine.first_token) {}

void ReferenceModel::Apply(const Call& call, TimeMs now, Outcome& outcome) {
  now_ = now;
  if (IsSetting(call.operation)) return ApplySetting(call, now, outcome);
  if (is_in_step_ && call.wait_ms > 0) return Apply(call.WithoutWait(), now, outcome);
  if (call.waits_by_notify_alone()) return Apply(call.WithWait(), now, outcome);
  // Rule 16: a command first settles the keys that it names.
  if (call.operation == Operation::kMsetNx) {
    // MSETNX may name very many keys, so it settles them one by one.
    for (int key : call.keys) Settle({key}, now, outcome);
  } else {
    Settle(call.named(), now, outcome);
  }
  if (IsRedis(call.operation)) return ApplyRedis(call, now, outcome);
  switch (call.operation) {
    case Operation::kLock:
      return Lock(call, now, outcome);
    case Operation::kMlock:
      return Mlock(call, now, outcome);
    case Operation::kUnlock:
    case Operation::kMunlock:
      for (int key : call.named()) Unlock(key, call, now, outcome);
      return;
    case Operation::kRenew:
    case Operation::kMrenew:
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
    case Operation::kSetShortage:
      is_short_of_memory_ = call.is_short;
      return;
    case Operation::kSetNoRoom:
      has_no_room_ = call.is_short;
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

// Rule 3: when limits change, queues are examined again.
void ReferenceModel::NoteLimitChange() {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    keys_[i].limit_override = overrides_.LimitOf(static_cast<int>(i));
    keys_[i].is_unseen = !keys_[i].line.empty();
  }
}

bool ReferenceModel::HappenNext(int key_index, TimeMs now, Outcome& outcome) {
  now_ = now;
  EndOverrides(now);
  ModelKey& key = At(key_index);
  const std::optional<ModelEvent> event = key.FirstDue(now);
  if (!event) return false;
  int first = key_index;
  switch (event->event_class) {
    case ModelEvent::Class::kLease: {
      const ModelHold hold = key.holds[event->index];
      RemoveAt(key.holds, event->index);
      const EventKind kind = hold.is_leaving ? EventKind::kBroken : EventKind::kExpired;
      ++(hold.is_leaving ? totals_.broken : totals_.expired);
      if (!hold.is_leaving) ++key.expired;
      Tell(kind, key_index, hold);
      TellLoss(key_index, hold, kind, outcome);
      Cool(key, hold, now);
      break;
    }
    case ModelEvent::Class::kCooling:
      RemoveAt(key.cooling, event->index);
      break;
    case ModelEvent::Class::kAbsence: {
      const ModelPlace place = key.line[event->index];
      first = place.keys.front();
      TellPlace(EventKind::kLapsed, place);
      RemovePlace(place);
      NoteOthers(place.keys, first);
      break;
    }
    case ModelEvent::Class::kWait:
      if (event->is_watcher) {
        EndWatcher(key_index, event->index, outcome);
      } else {
        const ModelPlace place = key.line[event->index];
        first = place.keys.front();
        EndPlace(place, now, outcome);
      }
  }
  LookAgain(first, now, outcome);
  return true;
}

std::optional<int> ReferenceModel::FirstDueKey(TimeMs now) const {
  std::optional<int> first;
  std::optional<ModelEvent> first_event;
  for (int key = 0; key < static_cast<int>(keys_.size()); ++key) {
    const std::optional<ModelEvent> event = At(key).FirstDue(now);
    if (!event || (first_event && first_event->Rank() <= event->Rank())) continue;
    first = key;
    first_event = event;
  }
  return first;
}

// Examines the first of the queues that overrides have affected, in the order in which they began
// or were last examined for that reason.
bool ReferenceModel::LookAtUnseen(const Keys& keys, TimeMs now, Outcome& outcome) {
  now_ = now;
  std::optional<int> first;
  for (int key : keys) {
    if (!At(key).is_unseen) continue;
    if (!first || At(key).line_number < At(*first).line_number) first = key;
  }
  if (!first) return false;
  At(*first).is_unseen = false;
  At(*first).line_number = next_line_++;
  LookAgain(*first, now, outcome);
  return true;
}

void ReferenceModel::Cool(ModelKey& key, const ModelHold& hold, TimeMs now) {
  if (hold.cool_until == 0 || IsOver(hold.cool_until, now)) return;
  key.cooling.push_back(
      {.mode = hold.mode, .token = hold.token, .rank = hold.rank, .end = hold.cool_until});
}

void ReferenceModel::EndWatcher(int key_index, std::size_t index, Outcome& outcome) {
  std::vector<ModelWatcher>& watchers = At(key_index).watchers;
  const int connection = watchers[index].connection;
  outcome.answers.push_back({connection, key_index, ResolutionKind::kWatchTimedOut, 0});
  RemoveAt(watchers, index);
}

// Rule 4: with KEEP, the place outlives the wait.
void ReferenceModel::EndPlace(const ModelPlace& place, TimeMs now, Outcome& outcome) {
  outcome.answers.push_back(AnswerTo(place, ResolutionKind::kTimedOut));
  ++totals_.timed_out;
  if (place.keep_ms > 0 && place.channel == kAbsent) {
    MakeAbsent(place, PlaceState::kKept, now);
  } else {
    TellPlace(EventKind::kTimedOut, place);
    RemovePlace(place);
    NoteOthers(place.keys, place.keys.front());
  }
}

// Everything that is due happens in order of time. If the time of an MLOCK's place is over, the
// MLOCK's other keys are settled, too, because it may have been granted earlier because of them.
void ReferenceModel::Settle(Keys keys, TimeMs now, Outcome& outcome) {
  EndOverrides(now);
  is_settling_ = true;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (const ModelPlace& place : At(keys[i]).line) {
      if (!IsOver(place.end, now)) continue;
      for (int other : place.keys) {
        if (std::ranges::count(keys, other) == 0) keys.push_back(other);
      }
    }
  }
  while (true) {
    std::optional<int> first;
    std::optional<ModelEvent> first_event;
    for (int key : keys) {
      const std::optional<ModelEvent> event = At(key).FirstDue(now);
      if (!event || (first_event && first_event->Rank() <= event->Rank())) continue;
      first = key;
      first_event = event;
    }
    if (!first) break;
    HappenNext(*first, now, outcome);
  }
  for (int key : keys) LookAtUnseen({key}, now, outcome);
  is_settling_ = false;
}

void ReferenceModel::BeginStep(TimeMs now) {
  EndOverrides(now);
  is_in_step_ = true;
}

// Starts with the queue whose first place is the oldest; the keys of an MLOCK come in its order.
void ReferenceModel::EndStep(TimeMs now, Outcome& outcome) {
  now_ = now;
  is_in_step_ = false;
  const auto age = [&](int key) {
    const std::vector<ModelPlace>& line = At(key).line;
    if (line.empty()) {
      const auto& watchers = At(key).watchers;
      return std::pair(watchers.empty() ? 0 : watchers.front().arrival, std::ptrdiff_t{0});
    }
    const Keys& keys = line.front().keys;
    return std::pair(line.front().arrival, std::ranges::find(keys, key) - keys.begin());
  };
  std::ranges::stable_sort(deferred_, {}, age);
  for (int key : std::exchange(deferred_, {})) LookAgain(key, now, outcome);
}

bool ReferenceModel::IsDeferred(int key) const {
  return is_in_step_ && std::ranges::count(deferred_, key) > 0;
}

// What was overdue on a key when the step started is treated as ended before the step, so the
// step's changes do not affect it.
bool ReferenceModel::Defer(int key) {
  if (!is_in_step_ || IsDeferred(key)) return is_in_step_;
  if (is_settling_) return false;
  if (!At(key).line.empty() || !At(key).watchers.empty()) deferred_.push_back(key);
  return true;
}

TimeMs ReferenceModel::NextDeadline() const {
  TimeMs next = overrides_.NextEnd();
  for (const ModelKey& key : keys_) next = std::min(next, key.NextDeadline());
  return next;
}

void ReferenceModel::Note(int key) {
  if (std::ranges::count(noted_, key) == 0) noted_.push_back(key);
}

void ReferenceModel::NoteOthers(const Keys& keys, int key) {
  for (int other : keys) {
    if (other != key) Note(other);
  }
}

// Rule 3: examines the queue again; for an MLOCK, all of its queues. The order across keys is the
// engine's: first the key where something happened, then the others in the order in which they
// changed.
void ReferenceModel::LookAgain(int key, TimeMs now, Outcome& outcome) {
  std::erase(noted_, key);
  while (true) {
    if (!Defer(key)) {
      ServeLine(key, now, outcome);
      ServeWatchers(key, outcome);
    }
    if (noted_.empty()) return;
    key = noted_.front();
    RemoveAt(noted_, 0);
  }
}

void ReferenceModel::ServeWatchers(int key_index, Outcome& outcome) {
  ModelKey& key = At(key_index);
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

// Rules 2, 3, 4, 6 and 12: serves waiters in order, until one finds no slot, here or on another key
// of its MLOCK; absent waiters get a reservation.
void ReferenceModel::ServeLine(int key_index, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(key_index);
  for (std::size_t i = 0; i < key.line.size();) {
    const ModelPlace place = key.line[i];
    if (place.state == PlaceState::kPassedOver || place.is_reserved) {
      ++i;
      continue;
    }
    if (FindBlocked(place, place.mode)) return;
    NoteOthers(place.keys, key_index);
    if (place.state == PlaceState::kKept) {
      SetReserved(place, true);
      ++i;
      continue;
    }
    const Token token = GrantPlace(place, now);
    outcome.answers.push_back(AnswerTo(place, ResolutionKind::kGranted, token));
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
    counts.cooldowns += key.cooling.size();
  }
  counts.newest_token = next_token_ - 1;
  return counts;
}

}  // namespace fairlock::simulation
