// Handles overrides of LIMIT, and drains: with both, an operator sets how many owners may hold a
// key.

#include <array>
#include <string>
#include <utility>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/locks/lock_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/argument_reader.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/refusals.h"

namespace fairlock::command {

namespace {

// The maximum number of bytes that all overrides together may compare with one key. This work is
// done for every request for a lock.
constexpr std::uint64_t kOverridesCostMax = 128 * 1024;

bool WouldCostTooMuch(Invocation& call, std::string_view pattern) {
  const engine::LimitOverrides& present = call.server.locks.engine().limits().Overrides(call.now);
  if (present.Has(call.client.profile.database, pattern)) return false;
  return present.CostMax() + engine::Glob(pattern).CostMax(engine::kKeyBytesMax) >
         kOverridesCostMax;
}

enum LimitOption : std::uint32_t { kEnd = 1U << 0, kReason = 1U << 1 };

engine::LimitOverride ReadOverride(Invocation& call, ArgumentReader& arguments) {
  engine::LimitOverride row;
  row.db = call.client.profile.database;
  row.pattern = arguments.Pattern();
  row.limit = static_cast<std::uint32_t>(arguments.Integer("n", 0, engine::kLimitMax));
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (arguments.TakeOnce("EX", kEnd, seen)) {
      row.end = call.now + arguments.LeaseSeconds();
    } else if (arguments.TakeOnce("REASON", kReason, seen)) {
      row.reason = arguments.Reason();
    } else {
      arguments.FailUnknownOption("EX or REASON");
    }
  }
  row.user = call.client.profile.user;
  row.address = call.client.profile.address.peer;
  row.since = call.now;
  return row;
}

void LimitSet(Invocation& call) {
  ArgumentReader arguments(call.arguments, 2);
  engine::LimitOverride row = ReadOverride(call, arguments);
  if (!arguments.Finish(call.reply)) return;
  if (WouldCostTooMuch(call, row.pattern)) {
    call.reply.Error(protocol::ErrorCode::kFull,
                     "the patterns of all overrides together would take too long to match against "
                     "each key; use fewer patterns with two or more stars");
  } else if (call.server.locks.engine().limits().Set(std::move(row), call.now)) {
    call.reply.Simple("OK");
  } else {
    RefuseTooMany(call.reply, "overrides of LIMIT (max_limit_overrides)");
  }
}

void LimitDel(Invocation& call) {
  ArgumentReader arguments(call.arguments, 2);
  const std::string_view pattern = arguments.Pattern();
  if (!arguments.Finish(call.reply)) return;
  const bool was_there =
      call.server.locks.engine().limits().Drop(call.client.profile.database, pattern, call.now);
  call.reply.Integer(was_there ? 1 : 0);
}

void LimitList(Invocation& call) {
  const auto& rows = call.server.locks.engine().limits().Overrides(call.now).all();
  call.reply.ArrayHeader(rows.size());
  for (const engine::LimitOverride& row : rows) {
    WriteOverride(call.reply, call.server.unix_time, row, call.now);
  }
}

constexpr auto kLimitCommands = std::to_array<CommandSpec>({
    {"LIMIT", nullptr, -2, 0, {}, "lock", "", "Overrides the LIMITs of clients", "O(overrides)"},
    {"LIMIT|SET",
     LimitSet,
     -4,
     kWrite | kAdmin | kDangerous | kAudited,
     {},
     "lock",
     "pattern n [EX seconds] [REASON text]",
     "Replaces the LIMITs given by clients with n on all matching keys; 0 drains them",
     "O(overrides); afterwards every queue is checked, in slices"},
    {"LIMIT|DEL",
     LimitDel,
     3,
     kWrite | kAdmin | kDangerous | kAudited,
     {},
     "lock",
     "pattern",
     "Ends the override of that pattern; 1 if there was one",
     "O(overrides); afterwards every queue is checked, in slices"},
    {"LIMIT|LIST",
     LimitList,
     2,
     kReadOnly | kAdmin,
     {},
     "lock",
     "",
     "The overrides in all databases, most specific first, one map each",
     "O(overrides)"},
    {"LIMIT|HELP", AnswerHelp, 2, 0, {}, "lock", "", "Lists the subcommands", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> LimitCommands() { return kLimitCommands; }

}  // namespace fairlock::command
