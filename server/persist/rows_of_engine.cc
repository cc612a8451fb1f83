#include "server/persist/rows_of_engine.h"

#include <algorithm>
#include <limits>

namespace fairlock::persist {

namespace {

std::uint64_t Number(engine::DurationMs duration_ms) {
  return static_cast<std::uint64_t>(duration_ms);
}

engine::DurationMs Duration(std::uint64_t number) {
  return static_cast<engine::DurationMs>(number);
}

storage::HoldId IdOf(const engine::KeyName& key, engine::Token token) {
  return {.db = key.db, .token = token, .key = key.bytes};
}

engine::KeyName NameOf(const storage::HoldId& id) { return {.db = id.db, .bytes = id.key}; }

storage::ClaimRow RowOf(const engine::KeptClaim& claim) {
  storage::ClaimRow row;
  row.owner = claim.owner;
  row.limit = claim.mode.limit;
  row.is_shared = claim.mode.is_shared;
  row.is_limit_given = claim.mode.is_limit_given;
  row.is_redis_way = claim.is_redis_way;
  if (claim.lease_ms > 0) row.lease_ms = Number(claim.lease_ms);
  if (claim.session_grace_ms) row.session_grace_ms = Number(*claim.session_grace_ms);
  row.min_hold_ms = Number(claim.min_hold_ms);
  row.meta = claim.meta;
  if (!claim.label.empty()) row.label = claim.label;
  row.notify_channel = claim.channel;
  row.mlock_keys = claim.mlock_keys;
  return row;
}

engine::KeptClaim ClaimOf(const storage::ClaimRow& row) {
  engine::KeptClaim claim;
  claim.owner = row.owner;
  claim.mode = {.limit = static_cast<std::uint32_t>(row.limit),
                .is_shared = row.is_shared,
                .is_limit_given = row.is_limit_given};
  claim.is_redis_way = row.is_redis_way;
  claim.lease_ms = Duration(row.lease_ms.value_or(0));
  if (row.session_grace_ms) claim.session_grace_ms = Duration(*row.session_grace_ms);
  claim.min_hold_ms = Duration(row.min_hold_ms);
  claim.meta = row.meta;
  claim.label = row.label.value_or("");
  claim.channel = row.notify_channel;
  claim.mlock_keys = row.mlock_keys;
  return claim;
}

constexpr std::uint64_t kDurationMax = static_cast<std::uint64_t>(engine::kForever);

bool IsKey(std::uint8_t db, std::string_view key) {
  return db < engine::kDatabases && !key.empty() && key.size() <= engine::kKeyBytesMax;
}

bool IsRight(const storage::HoldId& id) { return IsKey(id.db, id.key) && id.token > 0; }

bool IsRight(const storage::ClaimRow& row) {
  return !row.owner.empty() && row.owner.size() <= engine::kOwnerBytesMax && row.limit >= 1 &&
         row.limit <= engine::kLimitMax &&
         row.lease_ms.value_or(1) <= static_cast<std::uint64_t>(engine::kLeaseMsMax) &&
         row.lease_ms.value_or(1) > 0 && row.session_grace_ms.value_or(0) <= kDurationMax &&
         row.min_hold_ms <= kDurationMax && row.meta.value_or("").size() <= engine::kMetaBytesMax &&
         row.label.value_or("").size() <= engine::kLabelBytesMax &&
         !row.notify_channel.value_or("-").empty() &&
         row.mlock_keys.size() <= engine::kMlockKeysMax;
}

}  // namespace

storage::HoldRow RowOf(const engine::KeptHold& hold) {
  storage::HoldRow row{.id = IdOf(hold.key, hold.token), .claim = RowOf(hold.claim)};
  if (hold.left_ms) row.remaining_ms = Number(*hold.left_ms);
  return row;
}

storage::PlaceRow RowOf(const engine::KeptPlace& place) {
  storage::PlaceRow row{.arrival = place.arrival,
                        .db = place.key.db,
                        .key = place.key.bytes,
                        .claim = RowOf(place.claim),
                        .keep_ms = Number(place.keep_ms)};
  if (place.wait_ms) row.wait_ms = Number(*place.wait_ms);
  return row;
}

storage::CooldownRow RowOf(const engine::KeptCooling& room) {
  return {.id = IdOf(room.key, room.token),
          .limit = room.mode.limit,
          .is_shared = room.mode.is_shared,
          .is_limit_given = room.mode.is_limit_given,
          .length_ms = Number(room.left_ms)};
}

engine::KeptHold HoldOf(const storage::HoldRow& row) {
  engine::KeptHold hold{.key = NameOf(row.id), .token = row.id.token, .claim = ClaimOf(row.claim)};
  if (row.remaining_ms) hold.left_ms = Duration(*row.remaining_ms);
  return hold;
}

engine::KeptPlace PlaceOf(const storage::PlaceRow& row) {
  engine::KeptPlace place{.key = {.db = row.db, .bytes = row.key},
                          .arrival = row.arrival,
                          .claim = ClaimOf(row.claim),
                          .keep_ms = Duration(row.keep_ms)};
  if (row.wait_ms) place.wait_ms = Duration(*row.wait_ms);
  return place;
}

engine::KeptCooling CoolingOf(const storage::CooldownRow& row) {
  return {.key = NameOf(row.id),
          .token = row.id.token,
          .mode = {.limit = static_cast<std::uint32_t>(row.limit),
                   .is_shared = row.is_shared,
                   .is_limit_given = row.is_limit_given},
          .left_ms = Duration(row.remaining_ms.value_or(row.length_ms))};
}

namespace {

bool IsOfMlock(std::string_view key, const storage::ClaimRow& row) {
  const auto& keys = row.mlock_keys;
  return keys.empty() || std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

bool IsRight(const storage::HoldRow& row) {
  return IsRight(row.id) && IsOfMlock(row.id.key, row.claim) && IsRight(row.claim) &&
         row.remaining_ms.value_or(0) <= kDurationMax;
}

bool IsRight(const storage::PlaceRow& row) {
  return IsKey(row.db, row.key) && IsRight(row.claim) && IsOfMlock(row.key, row.claim) &&
         row.arrival > 0 && row.keep_ms <= std::numeric_limits<std::uint32_t>::max() &&
         row.wait_ms.value_or(0) <= kDurationMax;
}

bool IsRight(const storage::CooldownRow& row) {
  return IsRight(row.id) && row.limit >= 1 && row.limit <= engine::kLimitMax &&
         row.length_ms <= kDurationMax && row.remaining_ms.value_or(0) <= kDurationMax;
}

bool IsRight(const storage::LimitRow& row) {
  return IsKey(row.id.db, row.id.pattern) && row.limit <= engine::kLimitMax &&
         row.length_ms.value_or(0) <= kDurationMax;
}

}  // namespace fairlock::persist
