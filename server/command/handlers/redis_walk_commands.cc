// The Redis commands that walk over all keys of a database, or flush them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/handlers/value_access.h"
#include "server/command/server_parts.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

constexpr std::int64_t kKeysCountMax = 100'000;
// The maximum number of locks that one KEYS or RANDOMKEY examines. It is limited because no other
// client is served meanwhile.
constexpr std::size_t kLocksLookedAtMax = 100'000;
// Putting this many bytes into a reply costs as much as comparing one, so that a reply has at most
// 4 MB with SCAN, and 16 MB with KEYS.
constexpr std::size_t kCopiedPerCompared = 2;

std::string_view TypeOfKey(bool is_semaphore) { return is_semaphore ? "semaphore" : "string"; }

struct ScanQuery {
  std::uint64_t cursor = 0;
  std::size_t count = 10;
  engine::Glob glob = engine::Glob("*");
  std::optional<std::string_view> type = {};
};

// Returns nullopt after sending an error.
std::optional<ScanQuery> ReadScanQuery(Invocation& call) {
  const protocol::Arguments& arguments = call.arguments;
  ScanQuery query;
  const auto cursor = ReadCursor(call, arguments[1]);
  if (!cursor) return std::nullopt;
  query.cursor = *cursor;
  for (std::size_t i = 2; i < arguments.size(); i += 2) {
    const std::string_view option = arguments[i];
    const bool has_value = i + 1 < arguments.size();
    if (has_value && EqualsIgnoreCase(option, "MATCH")) {
      auto glob = ReadGlob(call, "MATCH", arguments[i + 1]);
      if (!glob) return std::nullopt;
      query.glob = *std::move(glob);
    } else if (has_value && EqualsIgnoreCase(option, "TYPE")) {
      query.type = arguments[i + 1];
    } else if (has_value && EqualsIgnoreCase(option, "COUNT")) {
      const auto count = ReadRedisInteger(call, arguments[i + 1]);
      if (!count) return std::nullopt;
      if (*count < 1) {
        RefuseSyntax(call.reply);
        return std::nullopt;
      }
      query.count = static_cast<std::size_t>(std::min(*count, kKeysCountMax));
    } else {
      RefuseSyntax(call.reply);
      return std::nullopt;
    }
  }
  return query;
}

void WriteKeys(Invocation& call, const std::vector<std::string_view>& keys) {
  call.reply.ArrayHeader(keys.size());
  for (const std::string_view key : keys) call.reply.Bulk(key);
}

// Visits keys from `cursor` on, the locks first, at least about `count` unless the walk ends or the
// budget is spent. Returns the next cursor, 0 at the end.
template <typename Visit>
std::uint64_t WalkKeys(Invocation& call, std::uint64_t cursor, std::size_t count, GlobWalk& walk,
                       const Visit& visit) {
  const std::uint8_t db = call.client.profile.database;
  const values::ValueStore& store = call.server.values.store();
  if ((cursor & kValuesCursorBit) == 0) {
    std::size_t visited = 0;
    cursor = LocksOf(call).Scan(cursor, count, db, walk,
                                [&](const engine::KeyName& key, bool is_semaphore) {
                                  ++visited;
                                  visit(key, TypeOfKey(is_semaphore));
                                });
    if (cursor != 0 || store.Count(db) == 0) return cursor;
    cursor = kValuesCursorBit;
    if (visited >= count || walk.is_spent()) return cursor;
    count -= visited;
  }
  cursor = store.Scan(cursor & ~kValuesCursorBit, count, [&](const values::Value& value) {
    walk.ChargeLook();
    const bool is_overdue = value.deadline() < call.now;
    if (value.name().db == db && !is_overdue) visit(value.name(), NameOfType(value.type()));
    return !walk.is_spent();
  });
  return cursor == 0 ? 0 : cursor | kValuesCursorBit;
}

void Scan(Invocation& call) {
  const auto query = ReadScanQuery(call);
  if (!query || RefusesToMatch(call)) return;
  std::vector<std::string_view> found;
  GlobWalk walk(call.server.work, GlobWalk::kPageWorkMax);
  const std::uint64_t cursor =
      WalkKeys(call, query->cursor, query->count, walk,
               [&](const engine::KeyName& key, std::string_view type) {
                 if (query->type && !EqualsIgnoreCase(*query->type, type)) return;
                 if (query->glob.Matches(key.bytes, walk.compared()) &&
                     call.client.rights.MayRead(key.bytes, walk.compared())) {
                   found.push_back(key.bytes);
                   walk.Charge(key.bytes.size() / kCopiedPerCompared);
                 }
               });
  call.reply.ArrayHeader(2);
  call.reply.Bulk(std::to_string(cursor));
  WriteKeys(call, found);
}

void RefuseToWalk(Invocation& call) {
  call.reply.Error(ErrorCode::kErr, "there are more than " + std::to_string(kLocksLookedAtMax) +
                                        " locks to examine; use SCAN");
}

void Keys(Invocation& call) {
  const auto glob = ReadGlob(call, "KEYS", call.arguments[1]);
  if (!glob || RefusesToMatch(call)) return;
  std::vector<std::string_view> found;
  GlobWalk walk(call.server.work, GlobWalk::kWholeWorkMax);
  const std::uint64_t cursor =
      WalkKeys(call, 0, kLocksLookedAtMax, walk, [&](const engine::KeyName& key, std::string_view) {
        if (glob->Matches(key.bytes, walk.compared()) &&
            call.client.rights.MayRead(key.bytes, walk.compared())) {
          found.push_back(key.bytes);
          walk.Charge(key.bytes.size() / kCopiedPerCompared);
        }
      });
  if (cursor != 0 && walk.is_spent()) {
    return call.reply.Error(ErrorCode::kErr,
                            "KEYS would take too long with this pattern and these keys; use SCAN "
                            "with MATCH, which works page by page");
  }
  if (cursor != 0) return RefuseToWalk(call);
  WriteKeys(call, found);
}

// Replies with the first key after a random position, which is derived from the clock; after the
// last key the walk continues with the first one.
void RandomKey(Invocation& call) {
  // Without this check, the walk would examine the locks of all other databases if this one is
  // empty.
  const std::uint8_t db = call.client.profile.database;
  const std::uint64_t locks = call.server.locks.engine().CountLocks(db);
  const std::uint64_t keys = locks + call.server.values.store().Count(db);
  if (keys == 0) return call.reply.Null();
  constexpr std::uint64_t kSpread = 0x9e37'79b9'7f4a'7c15;
  const std::uint64_t random = (call.server.environment.clock.MonotonicNs() + 1) * kSpread;
  // The values get as large a part of the random positions as they have of the keys.
  std::uint64_t cursor = random & ~kValuesCursorBit;
  if ((random >> 32) % keys >= locks) cursor |= kValuesCursorBit;
  std::string_view found;
  std::size_t steps = 0;
  bool is_second_round = false;
  GlobWalk walk(call.server.work, GlobWalk::kWholeWorkMax);
  while (found.empty() && !(is_second_round && cursor == 0)) {
    if (cursor == 0) is_second_round = true;
    if (++steps > kLocksLookedAtMax || walk.is_spent()) return RefuseToWalk(call);
    cursor = WalkKeys(call, cursor, 1, walk, [&](const engine::KeyName& key, std::string_view) {
      if (call.client.rights.MayRead(key.bytes, walk.compared())) found = key.bytes;
    });
  }
  if (found.empty()) {
    call.reply.Null();
  } else {
    call.reply.Bulk(found);
  }
}

void Flush(Invocation& call, std::optional<std::uint8_t> db) {
  const auto options = call.arguments.views().subspan(1);
  const bool is_known =
      options.empty() || (options.size() == 1 && (EqualsIgnoreCase(options[0], "SYNC") ||
                                                  EqualsIgnoreCase(options[0], "ASYNC")));
  if (!is_known) return RefuseSyntax(call.reply);
  Flushes& flushes = call.server.flushes;
  if (!flushes.IsLong(db)) {
    flushes.FlushAtOnce(call.client, db, call.now);
    return call.reply.Ok();
  }
  if (!call.server.delivery.is_in_step()) return flushes.Begin(call.client, db);
  call.reply.Error(ErrorCode::kFull,
                   "within MULTI or a script, at most " + std::to_string(Flushes::kKeysAtOnce) +
                       " locks and values can be flushed; send FLUSHDB or FLUSHALL alone");
}

void FlushDb(Invocation& call) { Flush(call, call.client.profile.database); }
void FlushAll(Invocation& call) { Flush(call, std::nullopt); }

constexpr std::uint32_t kFlushes = kWrite | kDangerous | kUnowned | kAudited;

constexpr auto kRedisWalkCommands = std::to_array<CommandSpec>({
    {"SCAN",
     Scan,
     -2,
     kReadOnly,
     {},
     "redis",
     "cursor [MATCH glob] [COUNT count] [TYPE type]",
     "Iterates over the existing keys, page by page; a key that exists from start to finish is "
     "always returned",
     "O(COUNT) a call"},
    {"KEYS",
     Keys,
     2,
     kReadOnly | kDangerous,
     {},
     "redis",
     "glob",
     "All keys that match; with more than 100,000 locks, or when matching would take too long, an "
     "error that suggests SCAN",
     "O(locks)"},
    {"RANDOMKEY",
     RandomKey,
     1,
     kReadOnly,
     {},
     "redis",
     "",
     "Some key that exists, or nil",
     "O(1) if most locks, or none, are in this database"},
    {"FLUSHDB",
     FlushDb,
     -1,
     kFlushes,
     {},
     "redis",
     "[ASYNC|SYNC]",
     "Releases all locks taken the Redis way in this database, and hands them to the next in their "
     "queues; more than 1,000 in steps, between which other requests are served",
     "O(locks); O(1) if this database has none"},
    {"FLUSHALL",
     FlushAll,
     -1,
     kFlushes,
     {},
     "redis",
     "[ASYNC|SYNC]",
     "FLUSHDB for every database",
     "O(locks)"},
});

}  // namespace

std::span<const CommandSpec> RedisWalkCommands() { return kRedisWalkCommands; }

}  // namespace fairlock::command
