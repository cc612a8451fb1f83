// The commands that move elements from one list to another, and those that wait for elements.

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "server/command/delivery/list_delivery.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;
using values::List;
using values::ListEnd;

// Returns nullopt after sending an error.
std::optional<ListEnd> ReadEnd(Invocation& call, std::string_view word) {
  if (EqualsIgnoreCase(word, "LEFT")) return ListEnd::kLeft;
  if (EqualsIgnoreCase(word, "RIGHT")) return ListEnd::kRight;
  RefuseSyntax(call.reply);
  return std::nullopt;
}

// Returns when the wait ends, engine::kNever for 0. Returns nullopt after sending an error.
std::optional<engine::TimeMs> ReadDeadline(Invocation& call, std::string_view text) {
  const auto seconds = ParseLongDouble(text);
  if (!seconds) {
    call.reply.Error(ErrorCode::kErr, "timeout is not a float or out of range");
    return std::nullopt;
  }
  constexpr long double kMsMax = 9.2e18L;
  const long double ms = std::ceil(*seconds * 1000);
  // As in Redis 7.0, where a number that is too large overflows.
  if (ms < 0 || ms > kMsMax) {
    call.reply.Error(ErrorCode::kErr, "timeout is negative");
    return std::nullopt;
  }
  if (ms == 0 || ms >= static_cast<long double>(engine::kNever - call.now)) return engine::kNever;
  return call.now + static_cast<engine::DurationMs>(ms);
}

// Lets the client wait. Within MULTI or a script, nothing waits, and the reply is nil at once.
void BeginWait(Invocation& call, values::ListWait wait) {
  if (call.server.delivery.is_in_step()) {
    wait.target ? call.reply.Null() : call.reply.NullArray();
    return;
  }
  if (call.server.availability.memory().is_short()) {
    return call.server.availability.RefuseForMemory(call.reply);
  }
  call.client.wait.Begin(WaitKind::kList, call.server.statistics.gauges);
  call.server.values.waiters().Add(call.client, std::move(wait));
}

// The end of each wait costs as much as its keys, and many connections may close at once.
constexpr std::size_t kKeysMax = 128;

void PopFirst(Invocation& call, ListEnd end) {
  const protocol::Arguments& arguments = call.arguments;
  if (const std::size_t keys = arguments.size() - 2; keys > kKeysMax) {
    return call.reply.Error(ErrorCode::kErr, std::string(arguments[0]) + " takes 1 to " +
                                                 std::to_string(kKeysMax) + " keys, got " +
                                                 std::to_string(keys));
  }
  const auto deadline = ReadDeadline(call, arguments[arguments.size() - 1]);
  if (!deadline) return;
  values::ListWait wait;
  wait.db = call.key.db;
  wait.from = end;
  wait.deadline = *deadline;
  for (std::size_t i = 1; i + 1 < arguments.size(); ++i) {
    const Opened<List> opened = OpenValue<List>(call, i);
    if (opened.is_refused) return;
    if (opened.value != nullptr) {
      call.reply.ArrayHeader(2);
      call.reply.Bulk(arguments[i]);
      return call.reply.Bulk(PopElement(call.server.values, *opened.value, end));
    }
    wait.keys.emplace_back(arguments[i]);
  }
  BeginWait(call, std::move(wait));
}

void BLPop(Invocation& call) { PopFirst(call, ListEnd::kLeft); }
void BRPop(Invocation& call) { PopFirst(call, ListEnd::kRight); }

struct Move {
  ListEnd from;
  ListEnd to;
};

// Returns false, with no reply, if the source is free.
bool MoveOne(Invocation& call, const Move& move) {
  if (!IsKeyOrRefuse(call, call.arguments[2])) return true;
  const Opened<List> source = OpenValue<List>(call, 1);
  if (source.is_refused) return true;
  if (source.value == nullptr) return false;
  const Opened<List> target = OpenValue<List>(call, 2);
  if (target.is_refused) return true;
  const std::size_t index = move.from == ListEnd::kLeft ? 0 : source.content().size() - 1;
  const std::string& element = source.content().at(index);
  if (source.value != target.value) {
    if (RefusesGrowth(call, target.value == nullptr)) return true;
    const Size before = target.value == nullptr ? Size{} : SizeOf(target.content());
    const Size after{before.elements + 1, before.bytes + element.size() + values::kElementBytes};
    if (RefusesSize(call, target.key.bytes, before, after)) return true;
  }
  call.reply.Bulk(
      MoveElement(call.server.values, *source.value, move.from, target.key, move.to, call.now));
  return true;
}

// Returns nullopt after sending an error.
std::optional<Move> ReadMove(Invocation& call) {
  const auto from = ReadEnd(call, call.arguments[3]);
  if (!from) return std::nullopt;
  const auto to = ReadEnd(call, call.arguments[4]);
  if (!to) return std::nullopt;
  return Move{*from, *to};
}

constexpr Move kRightToLeft{ListEnd::kRight, ListEnd::kLeft};

void LMove(Invocation& call) {
  const auto move = ReadMove(call);
  if (move && !MoveOne(call, *move)) call.reply.Null();
}

void RPopLPush(Invocation& call) {
  if (!MoveOne(call, kRightToLeft)) call.reply.Null();
}

void MoveOrWait(Invocation& call, const Move& move, std::string_view time_out) {
  const auto deadline = ReadDeadline(call, time_out);
  if (!deadline || MoveOne(call, move)) return;
  const std::string target(call.arguments[2]);
  BeginWait(call, {.db = call.key.db,
                   .keys = {std::string(call.arguments[1])},
                   .from = move.from,
                   .target = values::ListTarget{target, move.to},
                   .deadline = *deadline});
}

void BLMove(Invocation& call) {
  const auto move = ReadMove(call);
  if (move) MoveOrWait(call, *move, call.arguments[5]);
}

void BRPopLPush(Invocation& call) { MoveOrWait(call, kRightToLeft, call.arguments[3]); }

constexpr KeyPositions kAllButLast = {1, -2, 1};
constexpr KeyPositions kTwoKeys = With({1, 2, 1}, KeyEffect::kMoveElement);
constexpr std::uint32_t kWaits = kWrite | kBlocking | kNoScript;

constexpr auto kListWaitCommands = std::to_array<CommandSpec>({
    {"LMOVE", LMove, 5, kWrite | kTakesLock, kTwoKeys, "list",
     "source destination LEFT|RIGHT LEFT|RIGHT",
     "Moves an element from one end of a list to an end of another, or of the same list, and "
     "replies with it; nil if there is none",
     "O(1)"},
    {"RPOPLPUSH", RPopLPush, 3, kWrite | kTakesLock, kTwoKeys, "list", "source destination",
     "LMOVE with RIGHT and LEFT", "O(1)"},
    {"BLPOP", BLPop, -3, kWaits, With(kAllButLast, KeyEffect::kAccessDelete), "list",
     "key [key ...] timeout",
     "LPOP on the first of these lists that has an element; replies with its key and the element. "
     "If there is none, waits for one: those who asked first are served first. nil after timeout "
     "seconds; 0 waits for ever",
     "O(keys)"},
    {"BRPOP", BRPop, -3, kWaits, With(kAllButLast, KeyEffect::kAccessDelete), "list",
     "key [key ...] timeout", "BLPOP at the right end", "O(keys)"},
    {"BLMOVE", BLMove, 6, kWaits | kTakesLock, kTwoKeys, "list",
     "source destination LEFT|RIGHT LEFT|RIGHT timeout", "LMOVE that waits as BLPOP does", "O(1)"},
    {"BRPOPLPUSH", BRPopLPush, 4, kWaits | kTakesLock, kTwoKeys, "list",
     "source destination timeout", "RPOPLPUSH that waits as BLPOP does", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> ListWaitCommands() { return kListWaitCommands; }

}  // namespace fairlock::command
