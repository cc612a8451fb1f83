// Distributes the rows of a fleet's partitions over another number of partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/log/load_log.h"
#include "storage/records/rows.h"

namespace fairlock::storage::replicated {

struct RepartitionOptions {
  std::uint32_t partitions = 1;  // the new number
  std::function<std::uint16_t(std::string_view key)> slot_of;
  std::function<std::uint32_t(std::uint16_t slot)> partition_of;  // below `partitions`
};

struct RepartitionCounts {
  std::size_t holds = 0;
  std::size_t places = 0;
  std::size_t cooldowns = 0;
  std::size_t values = 0;
  std::size_t limits = 0;  // the overrides of all partitions together, each counted once
};

// - Holds and cooldowns move with their key, and keep their tokens. Holds of different partitions
//   can have the same token, but never of the same key.
// - Values move with their key. Large ones are numbered anew, because those of different partitions
//   can have the same number.
// - Places move with their key. They are numbered anew, because those of different partitions can
//   have the same number. The order of the queue of each key stays: all of it comes from one
//   partition.
// - Each override of a limit goes to every partition. If partitions have different overrides of one
//   pattern, the one that was set last counts.
// - In each partition, tokens start above every token that any partition may have granted.
//
// Not thread-safe.
class Repartition {
 public:
  explicit Repartition(RepartitionOptions options);

  // Adds the rows of one partition. Refused if an MLOCK has keys of several slots, but there will
  // be several partitions. The table is no longer needed afterwards.
  Status Add(const RowTable& rows);
  // Call this once, after all partitions have been added. Returns the rows of the new ones.
  std::vector<RowTable> Finish();

  const RepartitionCounts& counts() const { return counts_; }
  // The patterns for which partitions had different overrides.
  const std::vector<std::string>& mixed_limits() const { return mixed_limits_; }
  // The patterns for which some partitions had an override, and others with a log did not.
  std::vector<std::string> partial_limits() const;

 private:
  struct PlaceRow {
    std::uint64_t arrival = 0;
    std::uint32_t partition = 0;  // the new one
    std::string value;
  };
  struct LimitOfPartition {
    std::string key;  // the key of the row
    std::string value;
    std::uint64_t age = 0;
    std::uint64_t set_at_unix_ms = 0;
    std::uint32_t sources = 1;  // how many partitions had an override of the pattern
  };

  struct LargeValue {
    std::uint32_t partition = 0;
    std::uint64_t number = 0;
  };

  std::uint32_t PartitionOf(std::string_view key) const;
  Status CheckMlock(const rows::Claim& claim) const;
  Status AddRow(const RowTable::Name& name, const std::string& value);
  void AddValue(rows::Value& row, const Change& change);
  void AddElement(rows::Element& row);
  void AddLimit(const RowTable::Name& name, const std::string& value);
  void AddMeta(const MetaRow& row);

  const RepartitionOptions options_;
  std::vector<RowTable> tables_;
  std::vector<PlaceRow> places_;
  // The large values of this source, by their old numbers.
  std::unordered_map<std::uint64_t, LargeValue> large_values_;
  std::uint64_t newest_number_ = 0;
  std::map<std::string, LimitOfPartition> limits_;  // the overrides by the key of the row
  std::uint32_t sources_ = 0;                       // the partitions that have a log
  std::uint64_t token_ceiling_ = 0;                 // 0: no partition has a log
  struct {
    std::uint64_t flags_all = ~std::uint64_t{0};
    std::uint64_t flags_any = 0;
    std::uint64_t grant_delay_ms = 0;
  } last_runs_;
  RepartitionCounts counts_;
  std::vector<std::string> mixed_limits_;
};

}  // namespace fairlock::storage::replicated
