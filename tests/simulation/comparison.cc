#include "tests/simulation/comparison.h"

#include <algorithm>
#include <vector>

#include "tests/simulation/narration.h"

namespace fairlock::simulation {
namespace {

constexpr std::size_t kAllHolders = 1'000'000;

bool IsTimeLeft(const std::optional<DurationMs>& left_ms, TimeMs end, TimeMs now) {
  return left_ms ? *left_ms == end - now : end >= engine::kNever;
}

}  // namespace

// Outcomes
std::optional<std::string> Comparison::CompareOutcomes(const Outcome& engine,
                                                       const Outcome& model) const {
  bool is_same = engine.HasEqualResult(model) && engine.answers.size() == model.answers.size();
  if (is_same && engine.answers != model.answers) {
    // It is not specified whether watchers are answered before the next grant.
    const auto sorted = [](std::vector<Answer> answers) {
      std::ranges::stable_partition(
          answers, [](const Answer& answer) { return IsWatchAnswer(answer.kind); });
      return answers;
    };
    is_same = sorted(engine.answers) == sorted(model.answers);
  }
  if (is_same && HasSameLosses(engine, model)) return std::nullopt;
  return "engine: " + Describe(engine) + "\nmodel:  " + Describe(model);
}

// Losses are compared in order on each key; the engine may choose the order across keys.
bool Comparison::HasSameLosses(const Outcome& engine, const Outcome& model) {
  const auto sorted = [](std::vector<Loss> losses) {
    std::ranges::stable_sort(losses, {}, &Loss::key);
    return losses;
  };
  return sorted(engine.losses) == sorted(model.losses);
}

// One key
bool Comparison::IsSameClient(const engine::ClientIdentity& identity, int connection) const {
  return identity.address == driver_.AddressOf(connection) &&
         identity.is_connected == driver_.IsConnected(connection);
}

bool Comparison::IsSame(const engine::HolderInfo& info, const ModelHold& hold, TimeMs now) const {
  return info.owner == setting_.owners[static_cast<std::size_t>(hold.owner)] &&
         info.meta == setting_.TextOf(setting_.metas, hold.meta) &&
         info.label == setting_.TextOf(setting_.labels, hold.label) && info.token == hold.token &&
         info.since == hold.since && info.held_ms == now - hold.since &&
         IsTimeLeft(info.ttl_ms, hold.end(), now) && info.lease_ms == hold.lease_ms &&
         info.mode == hold.mode && info.has_session == hold.session_grace_ms.has_value() &&
         info.is_leaving == hold.is_leaving &&
         info.is_session_open == (hold.session_connection != kAbsent) &&
         info.key_count == hold.keys.size() && IsSameClient(*info.client, hold.client);
}

bool Comparison::IsSame(const engine::PlaceInfo& info, const ModelPlace& place, TimeMs now) const {
  const bool is_waiting = place.state == PlaceState::kWaiting;
  const auto& left_ms = is_waiting ? info.wait_left_ms : info.keep_left_ms;
  const auto& other_left_ms = is_waiting ? info.keep_left_ms : info.wait_left_ms;
  return info.owner == setting_.owners[static_cast<std::size_t>(place.owner)] &&
         info.meta == setting_.TextOf(setting_.metas, place.meta) &&
         info.label == setting_.TextOf(setting_.labels, place.label) && info.since == place.since &&
         info.waited_ms == now - place.since && info.is_waiting == is_waiting &&
         IsTimeLeft(left_ms, place.end, now) && !other_left_ms &&
         info.is_reserved == place.is_reserved && info.mode == place.mode &&
         info.key_count == place.keys.size() && IsSameClient(*info.client, place.connection);
}

bool Comparison::HasSamePositions(int key, TimeMs now, engine::Effects& effects) {
  const engine::KeyName name = setting_.keys[static_cast<std::size_t>(key)].name();
  const ModelKey& model = model_.key(key);
  const auto position = [&](int owner) {
    return driver_.engine().inspection().Position(
        name, setting_.owners[static_cast<std::size_t>(owner)], {now, effects});
  };
  for (std::size_t i = 0; i < model.line.size(); ++i) {
    const auto seen = position(model.line[i].owner);
    if (seen.has_value() == model.line[i].is_mark) return false;
    if (seen && *seen != model.CountStandingBefore(i) + 1) return false;
  }
  for (const ModelHold& hold : model.holds) {
    if (position(hold.owner) != 0U) return false;
  }
  return true;
}

bool Comparison::HasSameCounters(const engine::KeyCounters& counters, const ModelKey& key) const {
  // The counters are in a table where keys may evict one another if there are more than two keys.
  if (setting_.keys.size() > 2) return true;
  return counters.acquired == key.acquired &&
         counters.granted_after_wait == key.granted_after_wait && counters.denied == key.denied &&
         counters.expired == key.expired;
}

bool Comparison::IsSameKey(const engine::LockInfo& info,
                           const std::vector<engine::PlaceInfo>& places, const ModelKey& model,
                           TimeMs now) const {
  bool is_same =
      info.holder_count == model.holds.size() && info.holders.size() == model.holds.size() &&
      info.waiter_count == model.CountStanding() && places.size() == model.CountSeen() &&
      info.reserved_count == model.CountReserved() && info.cooling_ms == model.CoolingLeft(now) &&
      info.limit == model.SmallestLimit() && info.limit_override == model.limit_override &&
      info.is_shared == (!model.holds.empty() && model.holds.front().mode.is_shared);
  for (std::size_t i = 0; is_same && i < info.holders.size(); ++i) {
    is_same = IsSame(info.holders[i], model.holds[i], now);
  }
  auto place = places.begin();
  for (std::size_t i = 0; is_same && i < model.line.size(); ++i) {
    if (model.line[i].is_mark) continue;
    is_same =
        place->position == model.CountStandingBefore(i) + 1 && IsSame(*place++, model.line[i], now);
  }
  return is_same;
}

std::optional<std::string> Comparison::CompareKey(int key, TimeMs now) {
  const ModelKey& model = model_.key(key);
  const engine::KeyName name = setting_.keys[static_cast<std::size_t>(key)].name();
  engine::Effects effects;
  const engine::LockInfo info =
      driver_.engine().inspection().Inspect(name, kAllHolders, {now, effects});
  const std::vector<engine::PlaceInfo> places =
      driver_.engine().inspection().Queue(name, 0, kAllHolders, {now, effects});
  const bool is_same = IsSameKey(info, places, model, now);
  if (!is_same) return NarrateKey(key, info, places, now);
  if (!HasSameCounters(info.counters, model))
    return "counters: " + NarrateKey(key, info, places, now);
  if (driver_.SeeAsRedis(key, now) != model_.SeeAsRedis(key, now))
    return "as Redis sees it: " + NarrateKey(key, info, places, now);
  if (!HasSamePositions(key, now, effects))
    return "positions: " + NarrateKey(key, info, places, now);
  if (!effects.resolutions.empty()) return "looking at a settled key has effects";
  return std::nullopt;
}

std::string Comparison::NarrateKey(int key, const engine::LockInfo& info,
                                   const std::vector<engine::PlaceInfo>& places, TimeMs now) const {
  std::string text = "key k" + std::to_string(key) + " at " + std::to_string(now) + "\nengine:";
  for (const auto& holder : info.holders) text += "\n  holds " + Narrate(setting_, holder);
  for (const auto& place : places) text += "\n  waits " + Narrate(setting_, place);
  text +=
      "\n  cools " + std::to_string(info.cooling_ms) + " ms, limit " + std::to_string(info.limit);
  text += "\nmodel:";
  const ModelKey& model = model_.key(key);
  for (const auto& hold : model.holds) text += "\n  holds " + Narrate(hold, now);
  for (const auto& place : model.line) text += "\n  waits " + Narrate(place, now);
  text += "\n  cools " + std::to_string(model.CoolingLeft(now)) + " ms, limit " +
          std::to_string(model.SmallestLimit());
  return text;
}

// All keys
std::optional<std::string> Comparison::CompareAllKeys(TimeMs now) {
  for (int key = 0; key < static_cast<int>(setting_.keys.size()); ++key) {
    if (auto difference = CompareKey(key, now)) return difference;
  }
  return std::nullopt;
}

std::optional<std::string> Comparison::CompareCounts(bool is_model_behind) {
  const engine::EngineCounts& engine = driver_.engine().counts();
  const engine::EngineCounts model = model_.Counts();
  const auto is_right = [&](std::uint64_t seen, std::uint64_t known) {
    return is_model_behind ? seen <= known : seen == known;
  };
  const bool is_same =
      engine.locks == model.locks && engine.holds == model.holds &&
      is_right(engine.places, model.places) && is_right(engine.cooldowns, model.cooldowns) &&
      engine.watchers == model.watchers && engine.granted == model.granted &&
      engine.granted_after_wait == model.granted_after_wait && engine.denied == model.denied &&
      engine.released == model.released && engine.expired == model.expired &&
      engine.disconnected == model.disconnected && engine.broken == model.broken &&
      engine.timed_out == model.timed_out &&
      (engine.newest_token == model.newest_token || engine.granted == 0);
  if (is_same) return std::nullopt;
  return "counts (locks, holds, places, watchers, cooling, granted, after "
         "wait, denied, released, "
         "expired, disconnected, broken, timed out, newest token)\nengine:" +
         Narrate(engine) + "\nmodel: " + Narrate(model);
}

bool Comparison::IsSame(const engine::LockSummary& summary, const ModelKey& key, TimeMs now) const {
  if (summary.holder_count != key.holds.size() || summary.waiter_count != key.CountStanding()) {
    return false;
  }
  const ModelPlace* first_place = key.FirstStanding();
  const DurationMs waited_ms = first_place == nullptr ? 0 : now - first_place->since;
  if (summary.longest_wait_ms != waited_ms || summary.limit != key.SmallestLimit()) return false;
  if (key.holds.empty()) return summary.first_owner.empty() && summary.oldest_hold_ms == 0;
  const ModelHold& first = key.holds.front();
  return summary.first_owner == setting_.owners[static_cast<std::size_t>(first.owner)] &&
         summary.label == setting_.TextOf(setting_.labels, first.label) &&
         summary.oldest_hold_ms == now - first.since;
}

std::optional<std::string> Comparison::CompareOverview(bool is_model_behind, TimeMs now) {
  std::vector<int> visits(setting_.keys.size(), 0);
  bool is_same = true;
  std::uint64_t cursor = 0;
  do {
    cursor = driver_.engine().inspection().Scan(
        cursor, 3, {}, now, [&](const engine::LockSummary& summary) {
          const int key = driver_.NumberOfKey(summary.key);
          if (key == kAbsent) {
            is_same = false;
            return;
          }
          ++visits[static_cast<std::size_t>(key)];
          const ModelKey& known = model_.key(key);
          const bool is_behind =
              is_model_behind && (known.is_unseen || known.FirstDue(now).has_value());
          if (!is_behind && !IsSame(summary, known, now)) is_same = false;
        });
  } while (cursor != 0);
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const bool exists = !model_.key(static_cast<int>(i)).IsEmpty();
    if (exists != (visits[i] > 0)) is_same = false;
  }
  if (!is_same) return "LOCKS differs from the model";
  for (std::uint8_t db = 0; db < engine::kDatabases; ++db) {
    if (driver_.engine().CountLocks(db) != model_.CountLocks(db))
      return "a database's size differs";
  }
  return std::nullopt;
}

std::vector<Comparison::Sight> Comparison::SeeAll(TimeMs now) const {
  std::vector<Sight> sights(setting_.keys.size());
  const auto visit = [&](const engine::LockSummary& summary) {
    const int key = driver_.NumberOfKey(summary.key);
    if (key == kAbsent) return;
    sights[static_cast<std::size_t>(key)] = {true, summary.holder_count, summary.waiter_count};
  };
  std::uint64_t cursor = 0;
  do {
    cursor = driver_.engine().inspection().Scan(cursor, 16, {}, now, visit);
  } while (cursor != 0);
  return sights;
}

}  // namespace fairlock::simulation
