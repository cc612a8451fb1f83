// Reads a store back: which records are the state, whether their chain is whole, and their changes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "storage/log/store.h"
#include "storage/records/snapshot_heading.h"

namespace fairlock::storage {

class ChangeSink {
 public:
  // Well-formed changes (IsWellFormed), each valid for the call only.
  virtual void Apply(const Change& change) = 0;

 protected:
  ~ChangeSink() = default;
};

// Where a log ends, and so where the next batch and the next snapshot begin.
struct LogEnd {
  LogId log_id{};
  std::uint64_t next_batch = 1;
  std::uint64_t checksum = 0;         // of the last batch: what the next one is sealed with
  std::uint64_t next_generation = 1;  // above every generation of which anything is left
  std::uint64_t batches = 0;          // that were read
  std::uint64_t batch_bytes = 0;
  std::uint64_t slice_bytes = 0;
};

// Makes an empty store the store of a new log.
Status BeginLog(Store& store, const LogId& log_id);

// Gives the changes of the snapshot and then of all batches since, in order. The first record that
// is damaged, missing or does not follow the one before is named in the status.
Result<LogEnd> LoadLog(Store& store, ChangeSink& sink);

// The rows that are left when all changes are applied.
class RowTable final : public ChangeSink {
 public:
  using Name = std::pair<RowKind, std::string>;

  void Apply(const Change& change) override;
  const std::map<Name, std::string>& rows() const { return rows_; }

 private:
  std::map<Name, std::string> rows_;
};

}  // namespace fairlock::storage
