#include "server/persist/row_bounds.h"

#include <algorithm>
#include <limits>

#include "server/engine/api/types.h"
#include "storage/records/token_blocks.h"

namespace fairlock::persist {

namespace {

bool IsDuration(rows::DurationMs duration_ms) { return duration_ms <= engine::kForever; }

bool IsKey(std::uint8_t db, std::string_view key) {
  return db < engine::kDatabases && key.size() <= engine::kKeyBytesMax;
}

// All tokens are below the highest possible ceiling.
bool IsHoldId(const rows::HoldId& id) {
  return IsKey(id.db, id.key) && id.token > 0 && id.token < storage::kTokenCeilingMax;
}

bool IsMode(const rows::Mode& mode) { return mode.limit >= 1 && mode.limit <= engine::kLimitMax; }

bool IsClaim(const rows::Claim& claim) {
  return !claim.owner.empty() && claim.owner.size() <= engine::kOwnerBytesMax &&
         IsMode(claim.mode) && claim.lease_ms <= engine::kLeaseMsMax &&
         IsDuration(claim.terms.session_grace_ms.value_or(0)) &&
         IsDuration(claim.terms.min_hold_ms) &&
         claim.meta.value_or("").size() <= engine::kMetaBytesMax &&
         claim.label.size() <= engine::kLabelBytesMax && !claim.channel.value_or("-").empty() &&
         claim.mlock_keys.size() <= engine::kMlockKeysMax;
}

bool IsOfMlock(std::string_view key, const rows::Claim& claim) {
  const auto& keys = claim.mlock_keys;
  return keys.empty() || std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

bool IsWithinBounds(const rows::Hold& row) {
  return IsHoldId(row.id) && IsOfMlock(row.id.key, row.claim) && IsClaim(row.claim) &&
         IsDuration(row.remaining_ms.value_or(0)) && (!row.is_leaving || row.claim.lease_ms > 0);
}

bool IsWithinBounds(const rows::Place& row) {
  return IsKey(row.db, row.key) && IsClaim(row.claim) && IsOfMlock(row.key, row.claim) &&
         row.arrival > 0 && row.keep_ms <= std::numeric_limits<std::uint32_t>::max() &&
         IsDuration(row.wait_ms.value_or(0));
}

bool IsWithinBounds(const rows::Cooldown& row) {
  return IsHoldId(row.id) && IsMode(row.mode) && IsDuration(row.length_ms) &&
         IsDuration(row.remaining_ms.value_or(0));
}

bool IsWithinBounds(const rows::Value& row) {
  return IsKey(row.id.db, row.id.key) && row.ttl_ms <= engine::kLeaseMsMax &&
         IsDuration(row.remaining_ms.value_or(0));
}

bool IsWithinBounds(const storage::LimitRow& row) {
  return IsKey(row.id.db, row.id.pattern) && !row.id.pattern.empty() &&
         row.limit <= engine::kLimitMax &&
         row.length_ms.value_or(0) <= static_cast<std::uint64_t>(engine::kForever);
}

}  // namespace fairlock::persist
