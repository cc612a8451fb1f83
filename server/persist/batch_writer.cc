#include "server/persist/batch_writer.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "server/persist/persist_limits.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

namespace {

storage::LimitRow RowOf(const engine::LimitOverride& limit, std::uint64_t age,
                        const Moment& moment) {
  storage::LimitRow row;
  row.id = {.db = limit.db, .pattern = limit.pattern};
  row.limit = limit.limit;
  row.age = age;
  row.set_by = limit.user;
  row.set_from = limit.address;
  row.reason = limit.reason;
  const std::int64_t set_at = moment.unix_ms - (moment.now - limit.since);
  row.set_at_unix_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(set_at, 0));
  if (limit.end < engine::kNever) {
    const engine::DurationMs left_ms = std::max<engine::DurationMs>(limit.end - moment.now, 1);
    row.length_ms = static_cast<std::uint64_t>(left_ms);
  }
  return row;
}

bool IsSame(const engine::LimitOverride& one, const engine::LimitOverride& other) {
  return one.limit == other.limit && one.since == other.since && one.end == other.end &&
         one.reason == other.reason;
}

// Sorts the names and removes repeated ones. They are nearly always sorted and unique already.
void DropRepeats(std::vector<engine::ChangeLog::Name>& names) {
  const auto rank = [](const engine::ChangeLog::Name& name) {
    return std::pair(name.number, name.key_hash);
  };
  const auto is_not_before = [&](const auto& one, const auto& other) {
    return rank(one) >= rank(other);
  };
  if (std::ranges::adjacent_find(names, is_not_before) == names.end()) return;
  std::ranges::sort(names, {}, rank);
  const auto repeats = std::ranges::unique(names, {}, rank);
  names.erase(repeats.begin(), repeats.end());
}

}  // namespace

BatchWriter::BatchWriter(engine::LockEngine& engine, engine::TimeMs now) : engine_(engine) {
  changes_.Clear(engine.next_token());
  // Those that were restored are written again, with ages of this run.
  for (const engine::LimitOverride& limit : engine_.limits().Overrides(now).all()) {
    stored_limits_.emplace(std::pair(limit.db, limit.pattern), StoredLimit{limit, 0});
  }
  changes_.have_limits_changed = true;
  engine_.set_change_log(&changes_);
}

BatchWriter::~BatchWriter() { engine_.set_change_log(nullptr); }

void BatchWriter::Write(const Moment& moment, storage::RecordWriter& batch, GrantsOfBatch& grants) {
  AssertInLoop();
  assert(grants.names.empty());
  // Ends come first, because a place that has ended and returned is written again below.
  WriteEnds(batch);
  WriteHolds(batch, grants);
  for (const engine::ChangeLog::Name& name : changes_.cooling) {
    if (const auto cooldown = engine_.snapshots().FindCooldownRow(name, moment.now))
      PutRow(batch, *cooldown);
  }
  for (const engine::ChangeLog::PlaceName& name : changes_.places) {
    const std::string_view owner = changes_.Text(name.owner_begin, name.owner_size);
    const auto place = engine_.snapshots().FindPlaceRow(name, owner);
    if (!place) continue;
    // A repeated request may have dropped its KEEP.
    if (place->keep_ms > 0 || engine_.options().stores_all_places) {
      PutRow(batch, *place);
    } else {
      storage::DeletePlace(batch, place->arrival);
    }
  }
  if (changes_.have_limits_changed) WriteChangedLimits(moment, batch);
  changes_.Clear(engine_.next_token());
}

void BatchWriter::WriteEnds(storage::RecordWriter& batch) const {
  for (const engine::ChangeLog::End& end : changes_.ends) {
    const rows::HoldId id{
        .db = end.db, .token = end.number, .key = changes_.Text(end.key_begin, end.key_size)};
    switch (end.kind) {
      case engine::ChangeLog::Kind::kHold:
        storage::DeleteHold(batch, id);
        break;
      case engine::ChangeLog::Kind::kCooling:
        storage::DeleteCooldown(batch, id);
        break;
      case engine::ChangeLog::Kind::kPlace:
        storage::DeletePlace(batch, end.number);
        break;
    }
  }
}

void BatchWriter::WriteHolds(storage::RecordWriter& batch, GrantsOfBatch& grants) {
  DropRepeats(changes_.holds);
  for (const engine::ChangeLog::Name& name : changes_.holds) {
    const auto hold = engine_.snapshots().FindHoldRow(name);
    if (!hold) continue;
    PutRow(batch, *hold);
    has_long_leases_ |= IsLongLease(hold->claim.lease_ms);
    if (name.number < changes_.first_unwritten) continue;
    grants.names.push_back(name);
    if (hold->claim.lease_ms > 0) {
      grants.lease_ms_min = std::min(grants.lease_ms_min, hold->claim.lease_ms);
    }
  }
}

void BatchWriter::WriteChangedLimits(const Moment& moment, storage::RecordWriter& batch) {
  auto gone = std::move(stored_limits_);
  stored_limits_.clear();
  std::uint64_t age = 0;
  const std::vector<engine::LimitOverride>& limits = engine_.limits().Overrides(moment.now).all();
  // Among equally specific ones, the newest comes first.
  for (auto at = limits.rbegin(); at != limits.rend(); ++at) {
    const engine::LimitOverride& limit = *at;
    const std::pair<std::uint8_t, std::string> name(limit.db, limit.pattern);
    const auto stored = gone.find(name);
    const bool is_stored =
        stored != gone.end() && IsSame(stored->second.limit, limit) && stored->second.age > age;
    age = is_stored ? stored->second.age : next_limit_age_++;
    if (!is_stored) PutRow(batch, RowOf(limit, age, moment));
    if (stored != gone.end()) gone.erase(stored);
    stored_limits_.emplace(name, StoredLimit{limit, age});
  }
  for (const auto& [name, stored] : gone) {
    storage::DeleteLimit(batch, {.db = name.first, .pattern = name.second});
  }
}

void BatchWriter::WriteLimits(const Moment& moment, storage::RecordWriter& slice) {
  AssertInLoop();
  const std::vector<engine::LimitOverride>& limits = engine_.limits().Overrides(moment.now).all();
  for (auto at = limits.rbegin(); at != limits.rend(); ++at) {
    PutRow(slice, RowOf(*at, next_limit_age_++, moment));
  }
}

void UndeliveredGrants::Add(std::uint64_t batch, engine::TimeMs now, GrantsOfBatch grants) {
  AssertInLoop();
  assert(batches_.empty() || batches_.back().number <= batch);
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
  AssertInLoop();
  while (!batches_.empty() && batches_.front().number <= completed) {
    MoveOn(engine, batches_.front(), now);
    batches_.pop_front();
  }
  for (Batch& batch : batches_) {
    if (batch.since + batch.grants.lease_ms_min <= now) MoveOn(engine, batch, now);
  }
}

}  // namespace fairlock::persist
