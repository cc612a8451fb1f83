// A store that, on demand, loses or truncates writes, or makes them fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "storage/log/store.h"

namespace fairlock::storage {

// Remembers all appends in order, and how many of them were synced, so that a crash can be
// simulated. After a call to one of the Crash functions, the object acts as a new store on the
// remaining data, which can be loaded. Thread-safe.
class FaultyStore final : public Store {
 public:
  struct Crash {
    std::size_t unsynced_kept = 0;  // number of unsynced appends that survive
    bool tears_last = false;        // the last surviving record loses its second half
  };

  Status Load(RecordSink& sink) override;
  Status Append(std::span<const StoredRecord> records, Durability durability) override;
  Status Replace(const StoredRecord& heading, std::uint64_t first_batch) override;
  Status Sync() override;

  // Makes the k-th write from now (1 is the next append, replacement or sync) fail with `status`,
  // and also every later write until a crash. With `leaves_its_bytes`, the failed write takes
  // effect anyway, like one that reports its error too late.
  void FailWrite(std::uint64_t k, Status status, bool leaves_its_bytes = false);

  void CrashProcess();
  void CrashMachine(Crash crash);

  std::uint64_t writes() const;  // including failed ones
  std::size_t unsynced() const;  // number of appends that a machine failure may lose

 private:
  struct OwnedRecord {
    StoredRecord name;  // its `bytes` are empty
    std::string bytes;
  };
  struct Step {
    std::vector<OwnedRecord> records;
    bool is_replacement = false;
    std::uint64_t first_batch = 0;
  };

  Status Write(Step step, Durability durability);
  Status Judge();

  mutable std::mutex mutex_;
  std::vector<Step> steps_;
  std::size_t synced_ = 0;  // number of steps that are synced
  std::uint64_t writes_ = 0;
  std::uint64_t failing_write_ = 0;  // 0 if there is none
  bool leaves_its_bytes_ = false;
  Status failure_;
};

}  // namespace fairlock::storage
