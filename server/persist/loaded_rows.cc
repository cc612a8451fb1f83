#include "server/persist/loaded_rows.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "server/engine/api/types.h"
#include "server/persist/persist_limits.h"
#include "storage/records/token_blocks.h"

namespace fairlock::persist {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
// Less garbage than this is not worth a compaction.
constexpr std::size_t kGarbageBytesMin = 4 * kBlockBytes;

// The rows are not in memory in the order in which they are visited, so this many rows ahead are
// fetched into the cache.
constexpr std::size_t kRowsAhead = 16;

void Prefetch(std::string_view key, std::string_view value) {
  constexpr std::size_t kCacheLine = 64;
  __builtin_prefetch(key.data());
  __builtin_prefetch(value.data());
  __builtin_prefetch(value.data() + std::min(kCacheLine, value.size()));
}

storage::Status NotOurs(std::string_view what) {
  return storage::Newer("a " + std::string(what) + " has values that this program does not know");
}

std::size_t RankInMlock(const rows::Hold& row) {
  const auto& keys = row.claim.mlock_keys;
  return static_cast<std::size_t>(std::find(keys.begin(), keys.end(), row.id.key) - keys.begin());
}

engine::LimitOverride OverrideOf(const storage::LimitRow& row, const RestoreOptions& options) {
  const std::int64_t age_ms = options.unix_ms - static_cast<std::int64_t>(row.set_at_unix_ms);
  engine::LimitOverride limit{.db = row.id.db,
                              .pattern = std::string(row.id.pattern),
                              .limit = static_cast<std::uint32_t>(row.limit),
                              .reason = std::string(row.reason),
                              .user = std::string(row.set_by),
                              .address = std::string(row.set_from),
                              .since = options.now - std::max<std::int64_t>(age_ms, 0)};
  if (row.length_ms) {
    limit.end =
        options.now + static_cast<engine::DurationMs>(row.remaining_ms.value_or(*row.length_ms));
  }
  return limit;
}

}  // namespace

std::string_view LoadedRows::Keep(std::string_view head, std::string_view bytes) {
  const std::size_t size = head.size() + bytes.size();
  if (size > blocks_.left) {
    blocks_.left = std::max(kBlockBytes, size);
    blocks_.bytes += blocks_.left;
    blocks_.all.push_back(std::make_unique_for_overwrite<char[]>(blocks_.left));
  }
  // Memory is taken from the end of the block towards its beginning.
  blocks_.left -= size;
  char* const to = blocks_.all.back().get() + blocks_.left;
  std::memcpy(to, head.data(), head.size());
  std::memcpy(to + head.size(), bytes.data(), bytes.size());
  return {to, size};
}

std::string_view LoadedRows::KeepValue(ServedMarks::Count marks, std::string_view value) {
  std::array<char, sizeof marks> head;
  std::memcpy(head.data(), &marks, sizeof marks);
  return Keep({head.data(), head.size()}, value).substr(sizeof marks);
}

ServedMarks::Count LoadedRows::MarksBefore(std::string_view value) {
  ServedMarks::Count marks;
  std::memcpy(&marks, value.data() - sizeof marks, sizeof marks);
  return marks;
}

LoadedRows::Rows* LoadedRows::RowsOf(const storage::Change& change) {
  if (change.kind != storage::RowKind::kElement) return &rows_;
  rows::Element element;
  const bool is_right = storage::DecodeElementId(change.key, element);
  assert(is_right);
  static_cast<void>(is_right);
  newest_number_ = std::max(newest_number_, element.value_number);
  const auto found = elements_.find(element.value_number);
  if (found != elements_.end()) return found->second.get();
  if (change.is_deletion) return nullptr;
  return elements_.emplace(element.value_number, std::make_unique<Rows>()).first->second.get();
}

void LoadedRows::DropElementsOf(std::string_view previous, const storage::Change& change) {
  const std::uint64_t number = storage::NumberOfValue(previous);
  if (number == 0 || (!change.is_deletion && storage::NumberOfValue(change.value) == number)) {
    return;
  }
  newest_number_ = std::max(newest_number_, number);
  const auto found = elements_.find(number);
  if (found == elements_.end()) return;
  for (const auto& [name, value] : *found->second) {
    const std::size_t gone = name.bytes.size() + value.size() + sizeof(ServedMarks::Count);
    blocks_.live -= gone;
    blocks_.garbage += gone;
  }
  element_count_ -= found->second->size();
  elements_.erase(found);
}

void LoadedRows::Apply(const storage::Change& change) {
  if (change.kind == storage::RowKind::kMeta) marks_.Take(change);
  Rows* const rows = RowsOf(change);
  if (rows == nullptr) return;
  const char kind = static_cast<char>(change.kind);
  scratch_.assign(1, kind).append(change.key);
  Name name(scratch_);
  const auto found = rows->find(name);
  const bool is_there = found != rows->end();
  if (is_there) {
    if (change.kind == storage::RowKind::kValue) DropElementsOf(found->second, change);
    const std::size_t value_bytes = found->second.size() + sizeof(ServedMarks::Count);
    const std::size_t gone =
        change.is_deletion ? found->first.bytes.size() + value_bytes : value_bytes;
    blocks_.live -= gone;
    blocks_.garbage += gone;
  }
  const bool is_element = rows != &rows_;
  if (change.is_deletion) {
    if (is_there) rows->erase(found);
    if (is_there && is_element) --element_count_;
  } else {
    const std::string_view value = KeepValue(marks_.count(), change.value);
    blocks_.live += value.size() + sizeof(ServedMarks::Count);
    if (is_there) {
      found->second = value;
    } else {
      name.bytes = KeepName(kind, change.key);
      blocks_.live += name.bytes.size();
      rows->emplace(name, value);
      if (is_element) ++element_count_;
    }
  }
  if (blocks_.garbage > std::max(kGarbageBytesMin, blocks_.live)) Compact();
}

void LoadedRows::Compact() {
  const auto old_blocks = std::exchange(blocks_.all, {});
  blocks_.left = blocks_.bytes = blocks_.garbage = 0;
  MoveToNewBlocks(rows_);
  for (auto& [number, rows] : elements_) MoveToNewBlocks(*rows);
}

void LoadedRows::MoveToNewBlocks(Rows& rows) {
  Rows moved;
  moved.reserve(rows.size());
  for (const auto& [old_name, old_value] : rows) {
    const std::string_view value = KeepValue(MarksBefore(old_value), old_value);
    Name name = old_name;
    name.bytes = KeepName(old_name.bytes[0], old_name.bytes.substr(1));
    moved.emplace(name, value);
  }
  rows = std::move(moved);
}

storage::Status LoadedRows::Finish() {
  marks_.Finish();
  auto ahead = rows_.begin();
  for (std::size_t i = 0; i < kRowsAhead && ahead != rows_.end(); ++i) ++ahead;
  for (const auto& [name, value] : rows_) {
    if (ahead != rows_.end()) {
      Prefetch(ahead->first.bytes, ahead->second);
      ++ahead;
    }
    storage::Status status = Sort(name.bytes, value);
    if (!status.ok()) return status;
  }
  for (auto* ranked : {&holds_, &places_, &cooling_, &limits_}) {
    std::sort(ranked->begin(), ranked->end(), [](const Ranked& a, const Ranked& b) {
      return std::tie(a.rank, a.sub_rank) < std::tie(b.rank, b.sub_rank);
    });
  }
  return {};
}

storage::Status LoadedRows::Sort(std::string_view name, std::string_view value) {
  const std::string_view key = name.substr(1);
  switch (static_cast<storage::RowKind>(name[0])) {
    case storage::RowKind::kHold: {
      rows::Hold row;
      if (!storage::DecodeRow(key, value, row) || !IsWithinBounds(row)) return NotOurs("hold");
      has_long_leases_ |= IsLongLease(row.claim.lease_ms);
      holds_.push_back({row.id.token, key, value, RankInMlock(row)});
      return {};
    }
    case storage::RowKind::kPlace: {
      rows::Place row;
      if (!storage::DecodeRow(key, value, row) || !IsWithinBounds(row)) return NotOurs("place");
      places_.push_back({row.arrival, key, value});
      return {};
    }
    case storage::RowKind::kCooldown: {
      rows::Cooldown row;
      if (!storage::DecodeRow(key, value, row) || !IsWithinBounds(row)) return NotOurs("cooldown");
      cooling_.push_back({row.id.token, key, value});
      return {};
    }
    case storage::RowKind::kLimit: {
      storage::LimitRow row;
      if (!storage::DecodeRow(key, value, row) || !IsWithinBounds(row)) return NotOurs("limit");
      limits_.push_back({row.age, key, value});
      return {};
    }
    case storage::RowKind::kMeta:
      TakeMeta(key, value);
      return {};
    case storage::RowKind::kValue: {
      rows::Value row;
      if (!storage::DecodeRow(key, value, row) || !IsWithinBounds(row)) return NotOurs("value");
      values_.push_back({0, key, value});
      return CheckElements(row);
    }
    case storage::RowKind::kElement:
      break;  // not among these rows
  }
  return NotOurs("row");
}

// A large value has elements, all of its type.
storage::Status LoadedRows::CheckElements(const rows::Value& value) const {
  if (value.number == 0) return {};
  const auto found = elements_.find(value.number);
  if (found == elements_.end() || found->second->empty()) return NotOurs("value");
  rows::Element element;
  for (const auto& [name, text] : *found->second) {
    if (!storage::DecodeElementId(name.bytes.substr(1), element)) return NotOurs("element");
    if (element.type != value.type) return NotOurs("element");
  }
  return {};
}

void LoadedRows::TakeMeta(std::string_view key, std::string_view value) {
  storage::MetaRow row;
  const bool is_right = storage::DecodeRow(key, value, row);
  assert(is_right);
  if (row.name == storage::MetaName::kTokenCeiling) {
    token_ceiling_ = row.number;
  } else if (row.name == storage::MetaName::kLastRun) {
    last_run_.flags = row.number;
    last_run_.boot_id = row.text;
  } else if (row.name == storage::MetaName::kGrantDelay) {
    last_run_.grant_delay_ms =
        static_cast<engine::DurationMs>(std::min<std::uint64_t>(row.number, engine::kLeaseMsMax));
  }
}

std::uint64_t LoadedRows::newest_token() const {
  return std::max(holds_.empty() ? 0 : holds_.back().rank,
                  cooling_.empty() ? 0 : cooling_.back().rank);
}

engine::DurationMs LoadedRows::RestoreInto(engine::LockEngine& engine,
                                           const RestoreOptions& options) const {
  engine.restoration().ReserveLocks(holds_.size());
  engine::DurationMs longest_ms = 0;
  rows::Hold hold;
  for (std::size_t i = 0; i < holds_.size(); ++i) {
    if (i + kRowsAhead < holds_.size()) {
      Prefetch(holds_[i + kRowsAhead].key, holds_[i + kRowsAhead].value);
    }
    if (!storage::DecodeRow(holds_[i].key, holds_[i].value, hold)) continue;
    if (options.counts_down && hold.claim.lease_ms > 0) {
      const engine::DurationMs left_ms = hold.remaining_ms.value_or(hold.claim.lease_ms);
      hold.remaining_ms = std::max<engine::DurationMs>(
          left_ms - marks_.PassedMs(MarksBefore(holds_[i].value), hold.remaining_ms.has_value()),
          1);
      longest_ms = std::max(longest_ms, *hold.remaining_ms);
    }
    engine.restoration().Restore(hold, options.restart_grace_ms, options.now);
  }
  rows::Cooldown cooldown;
  for (const Ranked& ranked : cooling_) {
    if (!storage::DecodeRow(ranked.key, ranked.value, cooldown)) continue;
    engine.restoration().Restore(cooldown, options.now);
  }
  rows::Place place;
  for (const Ranked& ranked : places_) {
    if (!storage::DecodeRow(ranked.key, ranked.value, place)) continue;
    engine.restoration().Restore(place, options.restart_grace_ms, options.now);
  }
  storage::LimitRow limit;
  for (const Ranked& ranked : limits_) {
    if (!storage::DecodeRow(ranked.key, ranked.value, limit)) continue;
    // If there are more overrides than are allowed now, the newest are dropped.
    if (!engine.limits().Set(OverrideOf(limit, options), options.now)) break;
  }
  return longest_ms;
}

void LoadedRows::RestoreInto(values::ValueStore& values, engine::TimeMs now) const {
  rows::Value row;
  values.SkipNumbersTo(newest_number_);
  for (const Ranked& ranked : values_) {
    if (!storage::DecodeRow(ranked.key, ranked.value, row)) continue;
    values::Value& value = values.Restore(row, now);
    if (row.number > 0) RestoreElements(value, row.number);
  }
}

void LoadedRows::RestoreElements(values::Value& value, std::uint64_t number) const {
  const Rows& stored = *elements_.find(number)->second;
  std::vector<rows::Element> in_order;  // only of a list
  rows::Element element;
  for (const auto& [name, text] : stored) {
    if (!storage::DecodeRow(name.bytes.substr(1), text, element)) continue;
    if (element.type == rows::ValueType::kList) {
      in_order.push_back(element);
    } else {
      values::ValueStore::Restore(value, element);
    }
  }
  std::ranges::sort(in_order, {}, &rows::Element::place);
  for (const rows::Element& each : in_order) values::ValueStore::Restore(value, each);
  values::ValueStore::EndRestore(value);
}

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
