#include "tests/simulation/call.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace fairlock::simulation {

using engine::ResolutionKind;

namespace {

struct Row {
  Operation operation;
  const char* name;
  std::uint64_t usual_weight;
};

// One row an operation, in the order of the enum.
constexpr std::array<Row, kOperationCount> kRows = {{
    {Operation::kLock, "LOCK", 60},
    {Operation::kUnlock, "UNLOCK", 22},
    {Operation::kRenew, "RENEW", 8},
    {Operation::kWait, "WAIT", 4},
    {Operation::kCheck, "CHECK", 3},
    {Operation::kCancel, "CANCEL", 5},
    {Operation::kTransfer, "TRANSFER", 6},
    {Operation::kBreak, "BREAK", 2},
    {Operation::kCountHolders, "LOCKED", 2},
    {Operation::kIsHeldBy, "LOCKED", 2},
    {Operation::kPosition, "POSITION", 3},
    {Operation::kInspect, "LOCKINFO", 2},
    {Operation::kQueue, "QUEUE", 2},
    {Operation::kExplain, "EXPLAIN", 3},
    {Operation::kRepeat, "repeat", 8},
    {Operation::kUnblock, "unblock", 3},
    {Operation::kDisconnect, "lose connection", 8},
    {Operation::kSleep, "sleep", 10},
    {Operation::kAdvance, "advance", 16},
    {Operation::kSetDefaultLease, "set default lease", 1},
    {Operation::kSetReconnectGrace, "set reconnect grace", 1},
    {Operation::kSetLimit, "LIMIT SET", 3},
    {Operation::kDropLimit, "LIMIT DEL", 2},
    {Operation::kMlock, "MLOCK", 30},
    {Operation::kMrenew, "MRENEW", 5},
    {Operation::kMunlock, "MUNLOCK", 10},
    {Operation::kBeginStep, "one step", 4},
}};

const Row& RowOf(Operation operation) {
  const Row& row = kRows[static_cast<std::size_t>(operation)];
  assert(row.operation == operation);
  return row;
}

}  // namespace

TimeMs After(TimeMs now, DurationMs duration_ms) {
  return duration_ms >= engine::kNever - now ? engine::kNever : now + duration_ms;
}

TimeMs LeaseEnd(TimeMs now, DurationMs lease_ms) {
  return lease_ms == 0 ? engine::kNever : After(now, lease_ms);
}

bool HasRoomBeside(const std::vector<engine::Mode>& taken, const engine::Mode& mode,
                   std::optional<std::uint32_t> limit_override) {
  if (limit_override == 0U) return false;
  const std::size_t rooms_then = taken.size() + 1;
  const auto is_tolerated_by = [&](const engine::Mode& one) {
    if (one.is_shared != mode.is_shared) return false;
    const std::uint32_t limit = one.is_limit_given ? limit_override.value_or(one.limit) : one.limit;
    return one.is_shared || rooms_then <= limit;
  };
  return std::ranges::all_of(taken, is_tolerated_by) && is_tolerated_by(mode);
}

bool IsSetting(Operation operation) {
  return operation >= Operation::kSetDefaultLease && operation <= Operation::kDropLimit;
}

bool IsRequest(Operation operation) {
  const bool is_of_time_or_connection =
      operation >= Operation::kUnblock && operation <= Operation::kAdvance;
  return !is_of_time_or_connection && !IsSetting(operation) && operation != Operation::kBeginStep;
}

void Outcome::Clear() {
  status = 0;
  reason = 0;
  token = 0;
  number = 0;
  extra = 0;
  answers.clear();
  links.clear();
  link_count = 0;
  owners_in_line.clear();
  expiries.clear();
  lapses.clear();
}

bool Outcome::HasEqualResult(const Outcome& other) const {
  return status == other.status && reason == other.reason && token == other.token &&
         number == other.number && extra == other.extra;
}

bool IsWatchAnswer(ResolutionKind kind) {
  return kind == ResolutionKind::kWatchEnded || kind == ResolutionKind::kWatchTimedOut;
}

std::string Describe(const Answer& answer) {
  static constexpr std::array kNames = {"granted",    "timed out",   "cancelled",      "replaced",
                                        "superseded", "watch ended", "watch timed out"};
  std::string text =
      "c" + std::to_string(answer.connection) + " " + kNames[static_cast<std::size_t>(answer.kind)];
  if (answer.token != 0) text += " token " + std::to_string(answer.token);
  if (answer.by != kAbsent) text += " by w" + std::to_string(answer.by);
  return text;
}

std::string Describe(const Outcome& outcome) {
  std::string text = "status " + std::to_string(outcome.status);
  if (outcome.reason != 0) text += " reason " + std::to_string(outcome.reason);
  if (outcome.token != 0) text += " token " + std::to_string(outcome.token);
  if (outcome.number != 0) text += " number " + std::to_string(outcome.number);
  if (outcome.extra != 0) text += " extra " + std::to_string(outcome.extra);
  for (const Answer& answer : outcome.answers) text += "; " + Describe(answer);
  return text;
}

const char* NameOf(Operation operation) { return RowOf(operation).name; }

std::uint64_t UsualWeightOf(Operation operation) { return RowOf(operation).usual_weight; }

}  // namespace fairlock::simulation
