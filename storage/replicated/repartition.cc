#include "storage/replicated/repartition.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "storage/byte_coding.h"
#include "storage/records/record.h"

namespace fairlock::storage::replicated {

namespace {

std::string KeyOfPlace(std::uint64_t arrival) {
  std::string key(kVarintBytesMax, '\0');
  key.resize(static_cast<std::size_t>(WriteVarint(key.data(), arrival) - key.data()));
  return key;
}

// What is the same in two overrides of one pattern that were set by one request to all partitions.
auto TermsOf(const LimitRow& row) { return std::tie(row.limit, row.length_ms, row.reason); }

}  // namespace

Repartition::Repartition(RepartitionOptions options)
    : options_(std::move(options)), tables_(options_.partitions) {}

std::uint32_t Repartition::PartitionOf(std::string_view key) const {
  return options_.partition_of(options_.slot_of(key));
}

Status Repartition::CheckMlock(const rows::Claim& claim) const {
  if (options_.partitions == 1 || claim.mlock_keys.empty()) return {};
  const std::string_view first = claim.mlock_keys.front();
  for (const std::string_view key : claim.mlock_keys) {
    if (options_.slot_of(key) == options_.slot_of(first)) continue;
    return Refused("the MLOCK of the owner " + std::string(claim.owner) + " has the keys " +
                   std::string(first) + " and " + std::string(key) +
                   ", which have different slots; release it before the fleet is copied");
  }
  return {};
}

Status Repartition::Add(const RowTable& rows) {
  if (!rows.rows().empty()) ++sources_;
  large_values_.clear();
  for (const auto& [name, value] : rows.rows()) {
    Status status = AddRow(name, value);
    if (!status.ok()) return status;
  }
  return {};
}

// The rows are well-formed, because the reader of the log has checked them.
Status Repartition::AddRow(const RowTable::Name& name, const std::string& value) {
  const Change change{.kind = name.first, .key = name.second, .value = value};
  const auto decode = [&](auto& row) {
    const bool is_decoded = DecodeRow(name.second, value, row);
    assert(is_decoded);
    static_cast<void>(is_decoded);
  };
  switch (name.first) {
    case RowKind::kHold: {
      rows::Hold row;
      decode(row);
      token_ceiling_ = std::max(token_ceiling_, row.id.token + 1);
      tables_[PartitionOf(row.id.key)].Apply(change);
      ++counts_.holds;
      return CheckMlock(row.claim);
    }
    case RowKind::kPlace: {
      rows::Place row;
      decode(row);
      places_.push_back({row.arrival, PartitionOf(row.key), value});
      ++counts_.places;
      return CheckMlock(row.claim);
    }
    case RowKind::kCooldown: {
      rows::Cooldown row;
      decode(row);
      token_ceiling_ = std::max(token_ceiling_, row.id.token + 1);
      tables_[PartitionOf(row.id.key)].Apply(change);
      ++counts_.cooldowns;
      return {};
    }
    case RowKind::kLimit:
      AddLimit(name, value);
      return {};
    case RowKind::kValue: {
      rows::Value row;
      decode(row);
      AddValue(row, change);
      return {};
    }
    case RowKind::kElement: {
      rows::Element row;
      decode(row);
      AddElement(row);
      return {};
    }
    case RowKind::kMeta: {
      MetaRow row;
      decode(row);
      AddMeta(row);
      return {};
    }
  }
  return Newer("a row has an unknown kind");
}

void Repartition::AddValue(rows::Value& row, const Change& change) {
  const std::uint32_t partition = PartitionOf(row.id.key);
  ++counts_.values;
  if (row.number == 0) return tables_[partition].Apply(change);
  const LargeValue large{partition, ++newest_number_};
  large_values_[row.number] = large;
  row.number = large.number;
  ApplyRow(row, tables_[partition]);
}

// In a table, all values come before all elements.
void Repartition::AddElement(rows::Element& row) {
  const auto large = large_values_.find(row.value_number);
  if (large == large_values_.end()) return;
  row.value_number = large->second.number;
  ApplyRow(row, tables_[large->second.partition]);
}

void Repartition::AddLimit(const RowTable::Name& name, const std::string& value) {
  LimitRow row;
  if (!DecodeRow(name.second, value, row)) return;
  LimitOfPartition added{name.second, value, row.age, row.set_at_unix_ms};
  const auto [at, is_new] = limits_.try_emplace(name.second, added);
  if (is_new) {
    ++counts_.limits;
    return;
  }
  added.sources += at->second.sources;
  LimitRow other;
  static_cast<void>(DecodeRow(at->second.key, at->second.value, other));
  if (TermsOf(row) != TermsOf(other)) {
    const std::string pattern(row.id.pattern);
    if (std::ranges::find(mixed_limits_, pattern) == mixed_limits_.end()) {
      mixed_limits_.push_back(pattern);
    }
  }
  at->second.sources = added.sources;
  if (row.set_at_unix_ms > other.set_at_unix_ms) at->second = std::move(added);
}

std::vector<std::string> Repartition::partial_limits() const {
  std::vector<std::string> patterns;
  for (const auto& [key, limit] : limits_) {
    LimitRow row;
    static_cast<void>(DecodeRow(limit.key, limit.value, row));
    if (limit.sources < sources_) patterns.emplace_back(row.id.pattern);
  }
  return patterns;
}

void Repartition::AddMeta(const MetaRow& row) {
  if (row.name == MetaName::kTokenCeiling) {
    token_ceiling_ = std::max(token_ceiling_, row.number);
  } else if (row.name == MetaName::kLastRun) {
    last_runs_.flags_all &= row.number;
    last_runs_.flags_any |= row.number;
  } else if (row.name == MetaName::kGrantDelay) {
    last_runs_.grant_delay_ms = std::max(last_runs_.grant_delay_ms, row.number);
  }
}

std::vector<RowTable> Repartition::Finish() {
  std::ranges::stable_sort(places_, {}, &PlaceRow::arrival);
  std::vector<std::uint64_t> arrivals(options_.partitions);
  for (const PlaceRow& place : places_) {
    const std::string key = KeyOfPlace(++arrivals[place.partition]);
    tables_[place.partition].Apply({.kind = RowKind::kPlace, .key = key, .value = place.value});
  }
  places_.clear();
  std::vector<const LimitOfPartition*> limits;
  for (const auto& [key, limit] : limits_) limits.push_back(&limit);
  std::ranges::stable_sort(limits, [](const auto* one, const auto* other) {
    return std::tie(one->set_at_unix_ms, one->age) < std::tie(other->set_at_unix_ms, other->age);
  });
  std::uint64_t age = 0;
  for (const LimitOfPartition* const limit : limits) {
    LimitRow row;
    static_cast<void>(DecodeRow(limit->key, limit->value, row));
    row.age = ++age;
    for (RowTable& table : tables_) ApplyRow(row, table);
  }
  if (token_ceiling_ == 0) return std::move(tables_);
  // What all runs had done counts, except that a start delay of one of them goes on everywhere.
  const std::uint64_t flags =
      (last_runs_.flags_all & ~kLastRunDelayedGrants & last_runs_.flags_any) |
      (last_runs_.flags_any & kLastRunDelayedGrants);
  for (RowTable& table : tables_) {
    ApplyRow(MetaRow{.name = MetaName::kTokenCeiling, .number = token_ceiling_}, table);
    ApplyRow(MetaRow{.name = MetaName::kLastRun, .number = flags}, table);
    if (last_runs_.grant_delay_ms == 0) continue;
    ApplyRow(MetaRow{.name = MetaName::kGrantDelay, .number = last_runs_.grant_delay_ms}, table);
  }
  return std::move(tables_);
}

}  // namespace fairlock::storage::replicated
