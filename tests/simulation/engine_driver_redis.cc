// The driver: calls of the Redis way.

#include <vector>

#include "tests/simulation/engine_driver.h"

namespace fairlock::simulation {

engine::WriteRequest EngineDriver::WriteRequestOf(const Call& call, int key) const {
  return {.key = setting_.keys[static_cast<std::size_t>(key)].name(),
          .value = OwnerOf(call.owner),
          .end = call.written_end,
          .lease_ms = call.lease_ms.value_or(0),
          .only_new = call.only_new,
          .only_held = call.only_held,
          .is_rename = call.is_rename};
}

void EngineDriver::ApplyRedis(const Call& call, TimeMs now, Outcome& outcome) {
  releases_.clear();
  outcome.newest_token_before = engine_.next_token() - 1;
  const engine::Attachment& from = AttachmentOf(call.connection);
  switch (call.operation) {
    case Operation::kSet:
      Write(call, now, outcome);
      break;
    case Operation::kMsetNx:
      WriteAllNew(call, now, outcome);
      break;
    case Operation::kDel:
      outcome.number = redis_.Release(KeyOf(call), from, {now, effects_});
      break;
    case Operation::kExpire:
      outcome.number = static_cast<std::int64_t>(
          redis_.Expire({.key = KeyOf(call),
                         .lease_ms = call.lease_ms,
                         .only_endless = call.condition == ExpiryCondition::kNx,
                         .only_ending = call.condition == ExpiryCondition::kXx,
                         .only_later = call.condition == ExpiryCondition::kGt,
                         .only_earlier = call.condition == ExpiryCondition::kLt},
                        from, {now, effects_}));
      break;
    case Operation::kFlush:
      Flush(call, now);
      break;
    default: {
      const RedisSight sight = SeeAsRedis(call.key, now);
      outcome.status = sight.owner;
      outcome.number = sight.bits;
      outcome.extra = sight.ttl_ms;
    }
  }
  outcome.releases = releases_;
}

void EngineDriver::Write(const Call& call, TimeMs now, Outcome& outcome) {
  const engine::WriteResult result =
      redis_.Write(WriteRequestOf(call, call.key), AttachmentOf(call.connection), {now, effects_});
  outcome.status = static_cast<int>(result.status);
  outcome.reason = static_cast<int>(result.reason);
  outcome.token = result.token;
}

void EngineDriver::WriteAllNew(const Call& call, TimeMs now, Outcome& outcome) {
  std::vector<engine::WriteRequest> requests;
  for (int key : call.keys) requests.push_back(WriteRequestOf(call, key));
  std::vector<engine::WriteResult> results(requests.size());
  outcome.status = static_cast<int>(
      redis_.WriteAllNew(requests, AttachmentOf(call.connection), {now, effects_}, results));
  outcome.token = results.back().token;
}

void EngineDriver::Flush(const Call& call, TimeMs now) {
  const bool is_own_step = !engine_.is_in_transaction();
  if (is_own_step) engine_.BeginTransaction(now);
  const auto db = call.flushes_all ? std::nullopt : std::optional(KeyOf(call).db);
  std::uint64_t cursor = 0;
  do {
    cursor = redis_.Flush(cursor, 1, db, AttachmentOf(call.connection), {now, effects_});
  } while (cursor != 0);
  if (is_own_step) engine_.EndTransaction({now, effects_});
}

RedisSight EngineDriver::SeeAsRedis(int key, TimeMs now) {
  const engine::KeyLook look =
      redis_.Look(setting_.keys[static_cast<std::size_t>(key)].name(), {now, effects_});
  RedisSight sight;
  if (!look.exists) return sight;
  sight.bits = RedisSight::kExists;
  if (look.ttl_ms) sight.ttl_ms = *look.ttl_ms;
  if (!look.is_held) return sight;
  sight.bits |= RedisSight::kHeld;
  sight.owner = NumberOfOwner(look.owner);
  if (look.is_redis_way) sight.bits |= RedisSight::kRedisWay;
  if (look.is_semaphore) sight.bits |= RedisSight::kSemaphore;
  return sight;
}

}  // namespace fairlock::simulation
