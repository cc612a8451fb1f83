// What commands cost that show or change locks and keys.

#include <algorithm>
#include <array>

#include "server/command/handlers/command_costs.h"
#include "server/command/locks/event_names.h"
#include "server/command/server_parts.h"
#include "server/values/library_locks.h"

namespace fairlock::command {

namespace {

// One argument of an earlier request may be the owner that is shown.
std::uint64_t OwnerBytes(const CostQuestion& asked, std::size_t position) {
  const engine::KeyName key = KeyAt(asked, position);
  const std::size_t bytes = asked.server.locks.engine().redis().Peek(key, asked.now).value().size();
  return std::max<std::uint64_t>(
      bytes, std::min<std::uint64_t>(asked.earlier.longest, engine::kOwnerBytesMax));
}

Cost OneOwner(const CostQuestion& asked) { return Plus(asked, {OwnerBytes(asked, 1), 0}); }

Cost OwnersOfAll(const CostQuestion& asked) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 1; i < asked.arguments.size(); ++i) bytes += OwnerBytes(asked, i) + kFrame;
  return Plus(asked, {bytes, 2 * kWriteWork * asked.arguments.size()});
}

std::uint64_t SizeOf(const CostQuestion& asked, const engine::KeyName& key) {
  const values::Value* value = asked.server.values.Find(key, asked.now);
  return value == nullptr || value->size() > values::kLibraryElementsMax ? 0 : value->size();
}

// What earlier requests may have added to the holds or places of a key.
Cost AddedRows(const CostQuestion& asked, std::uint64_t rows_max) {
  const std::uint64_t rows = std::min(asked.earlier.requests, rows_max);
  return {rows * kRowBytes + asked.earlier.bytes, rows * kRowWork};
}

Cost HoldersOf(const CostQuestion& asked, const engine::KeyName& key) {
  constexpr std::size_t kHoldersMax = 10'000;
  Cost cost = AddedRows(asked, kHoldersMax);
  const engine::LockInfo info = asked.server.locks.engine().inspection().Inspect(
      key, kHoldersMax, asked.server.locks.StepAt(asked.now));
  for (const engine::HolderInfo& holder : info.holders) {
    cost +=
        {kRowBytes + holder.owner.size() + holder.meta.size() + holder.channel.size(), kRowWork};
  }
  const std::uint64_t of_value = SizeOf(asked, key);
  cost += {2 * kRowBytes + of_value * (kRowBytes + 100), of_value * kRowWork};
  return Plus(asked, cost);
}

Cost Holders(const CostQuestion& asked) { return HoldersOf(asked, KeyAt(asked, 1)); }

Cost HoldersIfExplained(const CostQuestion& asked) {
  return HasWord(asked, "EXPLAIN") ? Holders(asked) : Small(asked);
}

// Takes, ends or deletes each key that it names.
Cost EachKey(const CostQuestion& asked) {
  return Plus(asked, {0, 2 * kSmallWork * asked.arguments.size()});
}

// EXPLAIN shows the holders of one of the keys.
Cost HoldersOfMany(const CostQuestion& asked) {
  Cost cost = EachKey(asked);
  if (!HasWord(asked, "EXPLAIN")) return cost;
  Cost of_key;
  const auto keys = ParseInteger(asked.arguments[1]);
  for (std::size_t i = 2; keys && i < asked.arguments.size() &&
                          i < 2 + static_cast<std::uint64_t>(std::max<std::int64_t>(*keys, 0));
       ++i) {
    const Cost each = HoldersOf(asked, KeyAt(asked, i));
    of_key = {std::max(of_key.reply_bytes, each.reply_bytes), of_key.work + each.work};
  }
  cost += of_key;
  return cost;
}

Cost Places(const CostQuestion& asked) {
  const engine::KeyName key = KeyAt(asked, 1);
  const std::uint64_t start = NumberAfter(asked, "START", 0);
  const std::uint64_t count = std::min<std::uint64_t>(NumberAfter(asked, "COUNT", 100), 10'000);
  Cost cost = AddedRows(asked, count);
  const auto places = asked.server.locks.engine().inspection().Queue(
      key, start, count, asked.server.locks.StepAt(asked.now));
  for (const engine::PlaceInfo& place : places) {
    cost += {kRowBytes + place.owner.size() + place.meta.size() + place.channel.size(), kRowWork};
  }
  const std::uint64_t of_value = SizeOf(asked, key);
  constexpr std::uint64_t kStepWork = 20;
  cost += {std::min(of_value, count) * (kRowBytes + 100),
           of_value * kRowWork +
               kStepWork * std::min(start, asked.server.locks.engine().counts().places)};
  return Plus(asked, cost);
}

template <std::uint64_t work>
Cost EachHolder(const CostQuestion& asked) {
  const engine::LockInfo info = asked.server.locks.engine().inspection().Inspect(
      KeyAt(asked, 1), 0, asked.server.locks.StepAt(asked.now));
  return Plus(asked, {0, work * (info.holder_count + SizeOf(asked, KeyAt(asked, 1)))});
}

Cost LibraryLock(const CostQuestion& asked) {
  return Plus(asked, {0, kRowWork * SizeOf(asked, KeyAt(asked, 1))});
}

Cost PageOfLocks(const CostQuestion& asked) {
  constexpr std::uint64_t kLooksMax = 250;
  const std::uint64_t count = std::min(NumberAfter(asked, "COUNT", 10), kLooksMax);
  const std::uint64_t locks = asked.server.locks.engine().counts().locks +
                              asked.server.values.store().size() + asked.earlier.requests;
  const std::uint64_t rows = std::min(count, locks);
  return Plus(asked, {rows * (kRowBytes + kNamesBytes), kLooksMax * kWriteWork + rows * kRowWork});
}

struct LiveEvents {
  std::uint64_t count = 0;
  std::uint64_t name_bytes = 0;
};

// What the lock itself may tell.
LiveEvents CountLiveEvents(const CostQuestion& asked) {
  LiveEvents live;
  if (asked.arguments[1] == "*") return live;
  engine::LockEngine& engine = asked.server.locks.engine();
  const engine::KeyName key = KeyAt(asked, 1);
  const engine::Step step = asked.server.locks.StepAt(asked.now);
  const auto add = [&](const auto& claims) {
    for (const auto& claim : claims) live.name_bytes += key.bytes.size() + claim.owner.size();
    live.count += claims.size();
  };
  add(engine.inspection().Inspect(key, kLiveEventsMax / 2, step).holders);
  add(engine.inspection().Queue(key, 0, kLiveEventsMax / 2, step));
  return live;
}

Cost Events(const CostQuestion& asked) {
  const record::History* history = asked.server.recorder.history();
  if (history == nullptr) return Small(asked);
  const LiveEvents live = CountLiveEvents(asked);
  constexpr std::uint64_t kEventBytesMin = 40;
  const std::uint64_t events = history->used_bytes() / kEventBytesMin;
  const std::uint64_t count = std::min<std::uint64_t>(
      NumberAfter(asked, "COUNT", 100), events + live.count + 2 * asked.earlier.requests);
  // Each event is read once, so together they cannot show more than there is.
  const std::uint64_t names = std::min<std::uint64_t>(
      {count * (kNamesBytes + engine::kOwnerBytesMax), record::kHistoryShownBytesMax,
       history->used_bytes() + live.name_bytes + asked.earlier.bytes});
  constexpr std::uint64_t kLookWork = 100;
  return Plus(asked, {count * kRowBytes + names,
                      kLookWork * std::min<std::uint64_t>(events, record::History::kLooksMax) +
                          (count + live.count) * kRowWork});
}

Cost Statistics(const CostQuestion& asked) {
  const record::LabelStatistics* statistics = asked.server.recorder.statistics();
  if (statistics == nullptr) return Small(asked);
  constexpr std::uint64_t kSumWork = 80;
  const std::uint64_t labels = HasWord(asked, "LABEL") ? 1 : statistics->label_count() + 2;
  const std::uint64_t minutes = std::min<std::uint64_t>(NumberAfter(asked, "MINUTES", 60),
                                                        record::LabelStatistics::kMinutesMax);
  const std::uint64_t rows = HasWord(asked, "BY") ? labels * minutes : labels;
  return Plus(asked, {rows * 2 * kRowBytes, labels * minutes * kSumWork + rows * 2 * kRowWork});
}

std::uint64_t CountKeys(const CostQuestion& asked) {
  return asked.server.locks.engine().counts().locks + asked.server.values.store().size() +
         asked.earlier.arguments;
}

Cost PageOfKeys(const CostQuestion& asked) {
  const std::uint64_t keys = std::min(NumberAfter(asked, "COUNT", 10), CountKeys(asked));
  return Plus(asked,
              {std::min<std::uint64_t>(keys * engine::kKeyBytesMax, 4'000'000), keys * kWriteWork});
}

Cost AllKeys(const CostQuestion& asked) {
  const std::uint64_t keys = std::min<std::uint64_t>(CountKeys(asked), 100'000);
  return Plus(
      asked, {std::min<std::uint64_t>(keys * engine::kKeyBytesMax, 16'000'000), keys * kWriteWork});
}

Cost SomeKey(const CostQuestion& asked) {
  const std::uint64_t keys = std::min<std::uint64_t>(CountKeys(asked), 100'000);
  return Plus(asked, {engine::kKeyBytesMax, keys * engine::MatchBudget::kLookCost});
}

Cost Flush(const CostQuestion& asked) {
  constexpr std::uint64_t kFlushWork = 10'000;
  return Plus(asked,
              {0, std::min<std::uint64_t>(CountKeys(asked), Flushes::kKeysAtOnce) * kFlushWork});
}

// Each bit is looked at, and changed twice.
Cost BitFields(const CostQuestion& asked) {
  constexpr std::uint64_t kBitsWork = 1500;
  return Plus(asked, {BytesFrom(asked, 2), kBitsWork * asked.arguments.size()});
}

constexpr auto kLockCosts = std::to_array<CostRow>({
    {"LOCK", HoldersIfExplained},
    {"MLOCK", HoldersOfMany},
    {"MRENEW", EachKey},
    {"MUNLOCK", EachKey},
    {"MSET", EachKey},
    {"MSETEX", EachKey},
    {"MSETNX", EachKey},
    {"INCRBYFLOAT", Fixed<kFloatBytes, kFloatWork>},
    {"BITFIELD", BitFields},
    {"BITFIELD_RO", BitFields},
    {"GETEX", OneOwner},
    {"LOCKED", LibraryLock},
    {"LOCKINFO", Holders},
    {"QUEUE", Places},
    {"POSITION", LibraryLock},
    {"LOCKS", PageOfLocks},
    {"BREAK", EachHolder<5000>},
    {"HISTORY", Events},
    {"STATS", Statistics},
    {"GET", OneOwner},
    {"GETDEL", OneOwner},
    {"DIGEST", OneOwner},
    {"GETSET", OneOwner},
    {"GETRANGE", OneOwner},
    {"SET", OneOwner},
    {"MGET", OwnersOfAll},
    {"TYPE", EachHolder<20>},
    {"TTL", EachHolder<20>},
    {"PTTL", EachHolder<20>},
    {"EXPIRETIME", EachHolder<20>},
    {"PEXPIRETIME", EachHolder<20>},
    {"DEL", EachKey},
    {"UNLINK", EachKey},
    {"SCAN", PageOfKeys},
    {"KEYS", AllKeys},
    {"RANDOMKEY", SomeKey},
    {"FLUSHDB", Flush},
    {"FLUSHALL", Flush},
    {"CLUSTER|COUNTKEYSINSLOT", SomeKey},
    {"CLUSTER|GETKEYSINSLOT", AllKeys},
});

}  // namespace

std::span<const CostRow> LockCosts() { return kLockCosts; }

}  // namespace fairlock::command
