// The reference model: commands that only read.

#include <algorithm>
#include <cassert>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

void ReferenceModel::Look(const Call& call, TimeMs, Outcome& outcome) {
  const ModelKey& key = At(call.key);
  const bool holds = call.owner != kAbsent && key.FindHold(call.owner).has_value();
  switch (call.operation) {
    case Operation::kCheck:
      outcome.number = std::ranges::any_of(
          key.holds, [&](const ModelHold& hold) { return hold.token == call.token; });
      break;
    case Operation::kCountHolders:
    case Operation::kInspect:
      outcome.number = static_cast<std::int64_t>(key.holds.size());
      break;
    case Operation::kIsHeldBy:
      outcome.number = holds;
      break;
    case Operation::kPosition:
      outcome.number = holds ? 0 : key.PositionOf(call.owner);
      break;
    case Operation::kQueue: {
      std::vector<int> seen;
      for (const ModelPlace& one : key.line) {
        if (!one.is_mark) seen.push_back(one.owner);
      }
      const std::size_t left = seen.size() - std::min<std::size_t>(seen.size(), call.start);
      outcome.number = static_cast<std::int64_t>(std::min<std::size_t>(left, call.count));
      if (outcome.number > 0) outcome.extra = key.PositionOf(seen[call.start]);
      break;
    }
    default:
      assert(false && "not an operation of looking");
  }
}

// Rule 15, except for the parts that require history.
void ReferenceModel::Explain(const Call& call, TimeMs now, Outcome& outcome) {
  const ModelKey& key = At(call.key);
  outcome.status = static_cast<int>(key.CountStanding());
  outcome.reason = static_cast<int>(std::min<std::size_t>(key.holds.size(), 16));
  outcome.extra = kAbsent;
  outcome.number = kAbsent;
  for (const ModelHold& hold : key.holds) {
    if (hold.end() == engine::kNever) continue;
    const TimeMs ttl_ms = hold.end() - now;
    if (outcome.extra == kAbsent || ttl_ms < outcome.extra) outcome.extra = ttl_ms;
  }
  if (const auto hold = key.FindHold(call.owner)) {
    const TimeMs end = key.holds[*hold].end();
    outcome.extra = end == engine::kNever ? kAbsent : end - now;
  }
  if (!key.FindHold(call.owner)) outcome.number = key.PositionOf(call.owner);
}

}  // namespace fairlock::simulation
