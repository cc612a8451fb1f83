#include "storage/log/salvage.h"

#include <algorithm>

#include "storage/log/write_rows.h"
#include "storage/records/rows.h"
#include "storage/records/token_blocks.h"

namespace fairlock::storage {

namespace {

// The row that the name has in the table; null if there is none.
const std::string* FindRow(const RowTable& table, const RowTable::Name& name) {
  const auto found = table.rows().find(name);
  return found == table.rows().end() ? nullptr : &found->second;
}

}  // namespace

Status Salvage::Take(const StoredRecord& record) {
  if (!report_.damage.empty()) return TakeLater(record);
  if (record.kind == RecordKind::kBatch && !has_snapshot_) {
    const auto snapshot = reader_.End();
    if (!snapshot.ok()) return snapshot.status();
    has_snapshot_ = true;
  }
  const LogEnd before = reader_.so_far();
  Status status = reader_.Take(record);
  if (status.ok()) return status;
  if (status.code() != StatusCode::kDamaged || record.kind != RecordKind::kBatch) return status;
  end_ = before;
  report_.damage = status.message();
  return TakeLater(record);
}

// The checksum of the record says nothing if the one before it is missing. The store has checked
// the bytes by itself, and nothing of the record is kept.
Status Salvage::TakeLater(const StoredRecord& record) {
  if (record.kind != RecordKind::kBatch) return {};
  auto reader = RecordReader::OpenUnchained(record.bytes, record.kind, record.number);
  if (reader.status().code() == StatusCode::kNewer) return reader.status();
  if (!reader.ok()) return {};
  Change change;
  std::vector<std::pair<RowTable::Name, std::optional<std::string>>> changes;
  while (reader->Next(change)) {
    if (!IsWellFormed(change)) continue;
    auto& [name, value] =
        changes.emplace_back(RowTable::Name(change.kind, change.key), std::nullopt);
    if (!change.is_deletion) value = std::string(change.value);
  }
  if (reader->status().code() == StatusCode::kNewer) return reader->status();
  for (auto& [name, value] : changes) later_.insert_or_assign(std::move(name), std::move(value));
  if (report_.later++ == 0) report_.later_first = record.number;
  report_.later_last = record.number;
  return {};
}

Result<SalvageReport> Salvage::Finish() {
  if (report_.damage.empty()) {
    const auto end = reader_.End();
    if (!end.ok()) return end.status();
    end_ = end.value();
  }
  report_.last_batch = end_.batches == 0 ? 0 : end_.next_batch - 1;
  for (const auto& [name, value] : kept_.rows()) Note(name.first, name.second, value);
  for (const auto& [name, value] : later_) {
    if (value) Note(name.first, name.second, *value);
  }
  FindLost();
  for (auto& [key, lost] : lost_) report_.lost.push_back(std::move(lost));
  const std::uint64_t ceiling = std::min(report_.token_max + 1, kTokenCeilingMax);
  ApplyRow(MetaRow{.name = MetaName::kTokenCeiling, .number = ceiling}, kept_);
  if (report_.longest_ms > 0) {
    ApplyRow(MetaRow{.name = MetaName::kGrantDelay,
                     .number = static_cast<std::uint64_t>(report_.longest_ms)},
             kept_);
  }
  return report_;
}

// Remembers the greatest token and the longest time of the row.
void Salvage::Note(RowKind kind, std::string_view key, std::string_view value) {
  const auto note = [&](const rows::Claim& claim) {
    report_.longest_ms = std::max({report_.longest_ms, claim.lease_ms, claim.terms.min_hold_ms,
                                   claim.terms.session_grace_ms.value_or(0)});
    report_.has_endless |= claim.lease_ms == 0 && !claim.terms.session_grace_ms;
  };
  rows::Hold hold;
  rows::Place place;
  rows::Cooldown cooldown;
  MetaRow meta;
  if (kind == RowKind::kHold && DecodeRow(key, value, hold)) {
    note(hold.claim);
    report_.token_max = std::max(report_.token_max, hold.id.token);
  } else if (kind == RowKind::kPlace && DecodeRow(key, value, place)) {
    note(place.claim);
  } else if (kind == RowKind::kCooldown && DecodeRow(key, value, cooldown)) {
    report_.longest_ms = std::max(report_.longest_ms, cooldown.length_ms);
    report_.token_max = std::max(report_.token_max, cooldown.id.token);
  } else if (kind == RowKind::kMeta && DecodeRow(key, value, meta)) {
    if (meta.name != MetaName::kTokenCeiling) return;
    report_.token_max = std::max(report_.token_max, meta.number);
  }
}

LostChange& Salvage::LostAt(std::uint8_t db, std::string_view key) {
  LostChange& lost = lost_[KeyId(db, key)];
  lost.db = db;
  lost.key = key;
  return lost;
}

void Salvage::FindLost() {
  for (const auto& [name, value] : kept_.rows()) NoteValue(name, value);
  for (const auto& [name, value] : later_) {
    if (value) NoteValue(name, *value);
  }
  for (const auto& [name, later] : later_) {
    const std::string* const before = FindRow(kept_, name);
    if (before == nullptr ? !later : later && *later == *before) continue;
    if (name.first == RowKind::kHold) {
      CompareHolds(name, later);
    } else {
      CompareOther(name, later);
    }
  }
}

void Salvage::NoteValue(const RowTable::Name& name, const std::string& value) {
  rows::ValueId id;
  const std::uint64_t number = name.first == RowKind::kValue ? NumberOfValue(value) : 0;
  if (number != 0 && DecodeValueId(name.second, id)) {
    large_values_.try_emplace(number, id.db, std::string(id.key));
  }
}

void Salvage::CompareHolds(const RowTable::Name& name, const std::optional<std::string>& later) {
  const std::string* const before = FindRow(kept_, name);
  rows::Hold hold;
  if (!DecodeRow(name.second, later ? *later : *before, hold)) return;
  LostChange& lost = LostAt(hold.id.db, hold.id.key);
  if (before == nullptr) {
    lost.granted.push_back({std::string(hold.claim.owner), hold.id.token});
  } else if (!later) {
    lost.released.push_back({std::string(hold.claim.owner), hold.id.token});
  } else {
    lost.is_other = true;
  }
}

void Salvage::CompareOther(const RowTable::Name& name, const std::optional<std::string>& later) {
  const std::string* const before = FindRow(kept_, name);
  const std::string& value = later ? *later : *before;
  rows::Place place;
  rows::HoldId cooldown;
  rows::ValueId id;
  rows::Element element;
  switch (name.first) {
    case RowKind::kPlace:
      if (!DecodeRow(name.second, value, place)) return;
      LostAt(place.db, place.key).is_other = true;
      for (const std::string_view key : place.claim.mlock_keys)
        LostAt(place.db, key).is_other = true;
      return;
    case RowKind::kCooldown:
      if (DecodeHoldId(name.second, cooldown)) LostAt(cooldown.db, cooldown.key).is_other = true;
      return;
    case RowKind::kValue:
      if (DecodeValueId(name.second, id)) LostAt(id.db, id.key).is_other = true;
      return;
    case RowKind::kElement:
      if (!DecodeElementId(name.second, element)) return;
      if (const auto of = large_values_.find(element.value_number); of != large_values_.end()) {
        LostAt(of->second.first, of->second.second).is_other = true;
      }
      return;
    default:
      return;
  }
}

}  // namespace fairlock::storage
