#include "server/persist/undelivered_grants.h"

#include <utility>

namespace fairlock::persist {

void UndeliveredGrants::Add(std::uint64_t batch, engine::TimeMs now, GrantsOfBatch grants) {
  if (!grants.names.empty()) batches_.push_back({batch, now, std::move(grants)});
}

void UndeliveredGrants::MoveOn(engine::LockEngine& engine, Batch& batch, engine::TimeMs now) {
  const engine::DurationMs delay_ms = now - batch.since;
  if (delay_ms == 0) return;
  for (const engine::ChangeLog::Name& name : batch.grants.names) {
    engine.ExtendUnsentLease(name, delay_ms);
  }
  batch.since = now;
}

void UndeliveredGrants::Delay(engine::LockEngine& engine, std::uint64_t completed,
                              engine::TimeMs now) {
  while (!batches_.empty() && batches_.front().number <= completed) {
    MoveOn(engine, batches_.front(), now);
    batches_.pop_front();
  }
  for (Batch& batch : batches_) {
    if (batch.since + batch.grants.lease_ms_min <= now) MoveOn(engine, batch, now);
  }
}

}  // namespace fairlock::persist
