// What can be kept of a damaged log, and what is known to be lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/log/load_log.h"
#include "storage/log/store.h"

namespace fairlock::storage {

// A key of which a batch that is not kept had a newer state.
struct LostChange {
  std::uint8_t db = 0;
  std::string key;
  struct Hold {
    std::string owner;
    std::uint64_t token = 0;
  };
  std::vector<Hold> granted = {};   // those that are missing
  std::vector<Hold> released = {};  // those that are kept, but had ended
  bool is_other = false;            // something else is older than it was, such as its queue
};

struct SalvageReport {
  std::string damage;             // why the intact beginning ends; empty: the log is whole
  std::uint64_t last_batch = 0;   // the last one of the intact beginning; 0 if there is none
  std::uint64_t later = 0;        // batches after it that could still be read
  std::uint64_t later_first = 0;  // the first of these; between both, everything is unknown
  std::uint64_t later_last = 0;   // the last of these
  std::vector<LostChange> lost;   // by database and key
  std::uint64_t token_max = 0;    // no token above it was seen, nor a ceiling
  std::int64_t longest_ms = 0;    // the longest lease, grace or cooldown that was seen
  bool has_endless = false;       // whether a lock without any end was seen
};

// Receives all records of a log as a store loads them, and keeps its intact beginning: the snapshot
// and every batch up to the first one that is missing or damaged. The batches after that cannot be
// kept, because what is between them is unknown; they only tell what may be missing.
//
// Memory: the rows, and the rows that the later batches changed.
class Salvage final : public RecordSink {
 public:
  // A status other than ok means that nothing can be salvaged: the snapshot is damaged, or a newer
  // version wrote the log.
  Status Take(const StoredRecord& record) override;
  // Call this once, after the last record.
  Result<SalvageReport> Finish();

  // The state at the end of the intact beginning. After Finish, its tokens are above all that were
  // seen, and the next run delays grants by the longest time that was seen.
  const RowTable& kept() const { return kept_; }
  const LogEnd& end() const { return end_; }

 private:
  using KeyId = std::pair<std::uint8_t, std::string>;

  Status TakeLater(const StoredRecord& record);
  void FindLost();
  void NoteValue(const RowTable::Name& name, const std::string& value);
  void Note(RowKind kind, std::string_view key, std::string_view value);
  LostChange& LostAt(std::uint8_t db, std::string_view key);
  void CompareHolds(const RowTable::Name& name, const std::optional<std::string>& later);
  void CompareOther(const RowTable::Name& name, const std::optional<std::string>& later);

  RowTable kept_;
  LogReader reader_{kept_};
  LogEnd end_;
  bool has_snapshot_ = false;  // it was read completely
  SalvageReport report_;
  // The rows that later batches set; none: deleted.
  std::map<RowTable::Name, std::optional<std::string>> later_;
  std::map<std::uint64_t, KeyId> large_values_;  // by their numbers
  std::map<KeyId, LostChange> lost_;
};

}  // namespace fairlock::storage
