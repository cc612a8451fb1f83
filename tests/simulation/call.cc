#include "tests/simulation/call.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace fairlock::simulation {

namespace {

struct Row {
  Operation operation;
  const char* name;
  std::uint64_t usual_weight;
};

// One row per operation, in the order of the enum.
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
    {Operation::kSetShortage, "memory is", 2},
    {Operation::kSetNoRoom, "the disk's room is", 2},
    {Operation::kSetLimit, "LIMIT SET", 3},
    {Operation::kDropLimit, "LIMIT DEL", 2},
    {Operation::kMlock, "MLOCK", 30},
    {Operation::kMrenew, "MRENEW", 5},
    {Operation::kMunlock, "MUNLOCK", 10},
    {Operation::kBeginStep, "one step", 4},
    {Operation::kSet, "SET", 24},
    {Operation::kMsetNx, "MSETNX", 2},
    {Operation::kDel, "DEL", 8},
    {Operation::kExpire, "EXPIRE", 4},
    {Operation::kSee, "GET", 3},
    {Operation::kFlush, "FLUSH", 1},
    {Operation::kSubscribe, "SUBSCRIBE", 6},
    {Operation::kUnsubscribe, "lose subscriber", 5},
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

bool MayExpire(const Call& call, TimeMs end, TimeMs now) {
  const bool is_endless = end == engine::kNever;
  if (!call.lease_ms) return !is_endless;
  const TimeMs asked = *call.lease_ms > 0 ? After(now, *call.lease_ms) : now + *call.lease_ms;
  switch (call.condition) {
    case ExpiryCondition::kNx:
      return is_endless;
    case ExpiryCondition::kXx:
      return !is_endless;
    case ExpiryCondition::kGt:
      return !is_endless && asked > end;
    case ExpiryCondition::kLt:
      return is_endless || asked < end;
    default:
      return true;
  }
}

bool IsRedis(Operation operation) {
  return operation >= Operation::kSet && operation <= Operation::kFlush;
}

bool IsSetting(Operation operation) {
  return operation >= Operation::kSetDefaultLease && operation <= Operation::kDropLimit;
}

bool IsRequest(Operation operation) {
  const bool is_of_time_or_connection =
      operation >= Operation::kUnblock && operation <= Operation::kAdvance;
  const bool is_of_channel =
      operation == Operation::kSubscribe || operation == Operation::kUnsubscribe;
  return !is_of_time_or_connection && !is_of_channel && !IsSetting(operation) &&
         operation != Operation::kBeginStep;
}

const char* NameOf(Operation operation) { return RowOf(operation).name; }

std::uint64_t UsualWeightOf(Operation operation) { return RowOf(operation).usual_weight; }

}  // namespace fairlock::simulation
