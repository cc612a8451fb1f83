// Commands that inspect locks, and end them by force.

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/library_lock_break.h"
#include "server/command/handlers/library_lock_info.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/handlers/value_access.h"
#include "server/command/locks/lock_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/argument_reader.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

constexpr std::size_t kHoldersShownMax = 10'000;
constexpr std::int64_t kPlacesShownMax = 10'000;
constexpr std::int64_t kPlacesShownDefault = 100;
constexpr std::int64_t kScanCountMax = 100'000;
// The maximum number of locks that are examined for one page, so COUNT is only a hint, as for SCAN.
// Examining that many takes 0.1 to 0.2 ms, during which all other clients wait.
constexpr std::size_t kLocksOfAPageMax = 250;

AskedKey AskedBy(const Invocation& call, const engine::KeyName& key) {
  return {call.server, *call.client.rights.user(), key, call.now};
}

// Whether the key has a value that is no lock of a known library, and so is not free; if so, sends
// the error.
bool RefusesUnknownValue(Invocation& call, const engine::KeyName& key) {
  const std::string_view type = TypeOfValue(AskedBy(call, key));
  if (type.empty()) return false;
  call.reply.Error(protocol::ErrorCode::kWrongType,
                   "the key is not free: it has a " + std::string(type) +
                       ", which is no lock of a library that fairlock knows");
  return true;
}

void Locked(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key(call.key);
  const bool has_owner = arguments.has_more();
  const std::string_view owner = has_owner ? arguments.Owner("owner") : std::string_view();
  if (!arguments.Finish(call.reply)) return;
  if (const auto count = CountLibraryHolders(AskedBy(call, key),
                                             has_owner ? std::optional(owner) : std::nullopt)) {
    return call.reply.Integer(static_cast<std::int64_t>(*count));
  }
  if (RefusesUnknownValue(call, key)) return;
  engine::LockEngine& engine = call.server.locks.engine();
  if (has_owner) {
    call.reply.Integer(
        engine.inspection().IsHeldBy(key, owner, call.server.locks.StepAt(call.now)) ? 1 : 0);
  } else {
    call.reply.Integer(static_cast<std::int64_t>(
        engine.inspection().CountHolders(key, call.server.locks.StepAt(call.now))));
  }
}

void LockInfo(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key(call.key);
  if (!arguments.Finish(call.reply) || RefusesCost(call)) return;
  if (const auto found = InspectLibraryLock(AskedBy(call, key), kHoldersShownMax)) {
    return WriteLockInfo(call.reply, call.server.unix_time, found->info, call.now,
                         {TypeOfValue(AskedBy(call, key)), found->lock.library});
  }
  const engine::LockInfo info = call.server.locks.engine().inspection().Inspect(
      key, kHoldersShownMax, call.server.locks.StepAt(call.now));
  WriteLockInfo(call.reply, call.server.unix_time, info, call.now,
                {TypeOfValue(AskedBy(call, key))});
}

void Queue(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key(call.key);
  std::int64_t start = 0;
  std::int64_t count = kPlacesShownDefault;
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (arguments.TakeOnce("START", 1, seen)) {
      start = arguments.Integer("START", 0, INT64_MAX);
    } else if (arguments.TakeOnce("COUNT", 2, seen)) {
      count = arguments.Integer("COUNT", 1, kPlacesShownMax);
    } else {
      arguments.FailUnknownOption("START or COUNT");
    }
  }
  if (!arguments.Finish(call.reply) || RefusesCost(call)) return;
  const auto first = static_cast<std::uint64_t>(start);
  const auto shown = static_cast<std::uint64_t>(count);
  const auto of_library = LibraryQueueOf(AskedBy(call, key), first, shown);
  const std::vector<engine::PlaceInfo> places =
      of_library ? *of_library
                 : call.server.locks.engine().inspection().Queue(
                       key, first, shown, call.server.locks.StepAt(call.now));
  call.reply.ArrayHeader(places.size());
  for (const engine::PlaceInfo& place : places) {
    WritePlace(call.reply, call.server.unix_time, place, call.now);
  }
}

void Position(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key(call.key);
  const std::string_view owner = arguments.Owner("owner");
  if (!arguments.Finish(call.reply)) return;
  const auto of_library = LibraryPositionOf(AskedBy(call, key), owner);
  const auto position = of_library ? of_library->position
                                   : call.server.locks.engine().inspection().Position(
                                         key, owner, call.server.locks.StepAt(call.now));
  if (position) {
    call.reply.Integer(static_cast<std::int64_t>(*position));
  } else {
    call.reply.Null();
  }
}

struct LocksQuery {
  std::uint64_t cursor = 0;
  std::size_t count = 10;
  engine::LockFilter filter;  // without the glob
  std::optional<engine::Glob> glob;
};

enum LocksOption : std::uint32_t {
  kMatchFilter = 1U << 0,
  kCountFilter = 1U << 1,
  kDbFilter = 1U << 2,
  kLabelFilter = 1U << 3,
  kOwnerFilter = 1U << 4,
  kWaitingFilter = 1U << 5,
  kHeldFilter = 1U << 6,
  kNoExpiryFilter = 1U << 7,
};

void ReadDb(ArgumentReader& arguments, engine::LockFilter& filter) {
  filter.db.reset();
  if (!arguments.Take("*")) filter.db = static_cast<std::uint8_t>(arguments.Integer("DB", 0, 15));
}

// WAITING may be given without a value.
void ReadWaiting(ArgumentReader& arguments, engine::LockFilter& filter) {
  const bool has_duration = arguments.has_more() && !arguments.Peek().empty() &&
                            arguments.Peek().front() >= '0' && arguments.Peek().front() <= '9';
  filter.wait_ms_min = has_duration ? arguments.Duration("WAITING") : 0;
}

LocksQuery ReadLocksQuery(ArgumentReader& arguments, std::uint8_t db) {
  LocksQuery query;
  if (arguments.has_more() && ParseInteger(arguments.Peek())) {
    query.cursor = static_cast<std::uint64_t>(arguments.Integer("cursor", 0, INT64_MAX));
  }
  engine::LockFilter& filter = query.filter;
  filter.db = db;
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (arguments.TakeOnce("MATCH", kMatchFilter, seen)) {
      query.glob = arguments.PatternOf("MATCH");
    } else if (arguments.TakeOnce("COUNT", kCountFilter, seen)) {
      const auto count = static_cast<std::size_t>(arguments.Integer("COUNT", 1, kScanCountMax));
      query.count = std::min(count, kLocksOfAPageMax);
    } else if (arguments.TakeOnce("DB", kDbFilter, seen)) {
      ReadDb(arguments, filter);
    } else if (arguments.TakeOnce("LABEL", kLabelFilter, seen)) {
      filter.label = arguments.Label();
    } else if (arguments.TakeOnce("OWNER", kOwnerFilter, seen)) {
      filter.owner = arguments.Owner("OWNER");
    } else if (arguments.TakeOnce("WAITING", kWaitingFilter, seen)) {
      ReadWaiting(arguments, filter);
    } else if (arguments.TakeOnce("HELD", kHeldFilter, seen)) {
      filter.hold_ms_min = arguments.Duration("HELD");
    } else if (arguments.TakeOnce("NOEXPIRY", kNoExpiryFilter, seen)) {
      filter.is_endless = true;
    } else {
      arguments.FailUnknownOption(
          "a cursor, then MATCH, COUNT, LABEL, OWNER, WAITING [duration], HELD, NOEXPIRY or DB");
    }
  }
  return query;
}

void ListLocks(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  LocksQuery query = ReadLocksQuery(arguments, call.client.profile.database);
  if (!arguments.Finish(call.reply) || RefusesToMatch(call)) return;
  std::vector<engine::LockSummary> found;
  std::vector<LibraryRow> of_libraries;
  GlobWalk walk(call.server.work, GlobWalk::kPageWorkMax);
  query.filter.glob = query.glob ? &*query.glob : nullptr;
  query.filter.budget = &walk;
  std::uint64_t cursor = query.cursor;
  if ((cursor & kValuesCursorBit) == 0) {
    cursor = call.server.locks.engine().inspection().Scan(
        cursor, query.count, query.filter, call.now, [&](const engine::LockSummary& lock) {
          if (values::IsBesideLock(lock.key.bytes, lock.first_owner)) return;
          if (call.client.rights.MayRead(lock.key.bytes, walk.compared())) found.push_back(lock);
        });
    if (cursor == 0 && !call.server.values.store().empty()) cursor = kValuesCursorBit;
  }
  if ((cursor & kValuesCursorBit) != 0 && found.size() < query.count && !walk.is_spent()) {
    cursor = WalkLibraryLocks(call, cursor & ~kValuesCursorBit, query.count - found.size(),
                              query.filter, walk, of_libraries);
    if (cursor != 0) cursor |= kValuesCursorBit;
  }
  call.reply.ArrayHeader(2);
  call.reply.Bulk(std::to_string(cursor));
  call.reply.ArrayHeader(found.size() + of_libraries.size());
  for (const engine::LockSummary& lock : found) WriteLockRow(call.reply, {lock});
  for (const LibraryRow& row : of_libraries) WriteLockRow(call.reply, ShownRowOf(row));
}

// Describes the client in the format of CLIENT LIST.
std::string Describe(const ClientProfile& client) {
  std::string text = "addr=" + client.address.peer;
  if (!client.name.empty()) text += " name=" + client.name;
  return text + " user=" + client.user;
}

void GiveNotice(Invocation& call, const engine::KeyName& key, std::optional<std::string_view> owner,
                engine::DurationMs grace_ms) {
  if (call.server.values.Find(key, call.now) != nullptr) {
    return call.reply.Error(protocol::ErrorCode::kErr,
                            "GRACE is not possible for the lock of a library, whose end only the "
                            "library decides; BREAK without GRACE ends it at once");
  }
  const auto leaving =
      call.server.locks.engine().Break(key, owner, call.server.locks.StepAt(call.now), grace_ms);
  call.reply.Integer(static_cast<std::int64_t>(leaving.holds));
}

void Break(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key(call.key);
  // In `BREAK key REASON`, with nothing after REASON, that word is the name of an owner; so is
  // GRACE.
  const std::size_t size = call.arguments.size();
  const auto is_option = [](std::string_view word) {
    return EqualsIgnoreCase(word, "REASON") || EqualsIgnoreCase(word, "GRACE");
  };
  const bool has_owner = size > 2 && (size % 2 == 1 || !is_option(call.arguments[2]));
  std::optional<std::string_view> owner;
  if (has_owner) owner = arguments.Owner("owner");
  std::string_view reason;
  engine::DurationMs grace_ms = 0;
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (arguments.TakeOnce("REASON", 1, seen)) {
      reason = arguments.Reason();
    } else if (arguments.TakeOnce("GRACE", 2, seen)) {
      grace_ms = arguments.DurationUpTo("GRACE", engine::kLeaseMsMax);
      if (grace_ms == 0) arguments.Fail("GRACE must be at least 1ms; BREAK alone ends it at once");
    } else {
      arguments.FailUnknownOption("GRACE or REASON");
    }
  }
  if (!arguments.Finish(call.reply)) return;
  engine::LockEngine& engine = call.server.locks.engine();
  // Expires overdue holds first, so that they do not count as ended by force.
  engine.inspection().CountHolders(key, call.server.locks.StepAt(call.now));
  record::History* history = call.server.recorder.history();
  if (history != nullptr) history->BeginForce(Describe(call.client.profile), reason);
  if (grace_ms > 0) {
    GiveNotice(call, key, owner, grace_ms);
  } else if (!BreaksLibraryLock(call, key, owner)) {
    const auto ended = engine.Break(key, owner, call.server.locks.StepAt(call.now));
    if (ended.holds > 0) SignalPythonWaiter(call, key);
    call.reply.Integer(static_cast<std::int64_t>(ended.holds));
  }
  if (history != nullptr) history->EndForce();
}

constexpr std::array<CommandSpec, 6> kLookCommands = {{
    {"LOCKED", Locked, -2, kReadOnly | kFast, kFirstKey, "lock", "key [owner]",
     "How many owners hold the lock, or whether that owner does", "O(1)"},
    {"LOCKINFO", LockInfo, 2, kReadOnly, kFirstKey, "lock", "key",
     "Who holds the lock, how many are waiting, and recent events on the key", "O(holders)"},
    {"QUEUE", Queue, -2, kReadOnly, kFirstKey, "lock", "key [START index] [COUNT count]",
     "The places in the queue, in order, one map each", "O(START + COUNT)"},
    {"POSITION", Position, 3, kReadOnly | kFast, kFirstKey, "lock", "key owner",
     "0 if the owner holds the lock, its place in the queue (1 is next), or nil",
     "O(place), at most 1,000 steps"},
    {"LOCKS",
     ListLocks,
     -1,
     kReadOnly,
     {},
     "lock",
     "[cursor] [MATCH glob] [COUNT count] [LABEL name] [OWNER owner] [WAITING [duration]] "
     "[HELD duration] [NOEXPIRY] [DB database | DB *]",
     "Lists all locks page by page, like SCAN; with WAITING, only those with a queue. Includes the "
     "locks of libraries that are hashes or sorted sets",
     "O(COUNT) per call; at most 250 locks are examined"},
    {"BREAK", Break, -2, kWrite | kAdmin | kDangerous | kUnowned | kAudited, kFirstKey, "lock",
     "key [owner] [GRACE duration] [REASON text]",
     "Forcibly ends the owner's hold, or all holds, reserved slots and cooldowns; replies with the "
     "number of holds ended. With GRACE, the holds are told to leave, and end by force only after "
     "that time; replies with the number of holds that leave",
     "O(holders)"},
}};

}  // namespace

std::span<const CommandSpec> LookCommands() { return kLookCommands; }

}  // namespace fairlock::command
