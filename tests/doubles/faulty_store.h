// A store that loses, tears and fails what it is told to: for tests and the simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "storage/log/store.h"

namespace fairlock::storage {

// Remembers every append in order and how far it was synced, so that a crash can be played: after
// one of the Crash calls it is as a new store on what was left, and may be loaded. Thread-safe.
class FaultyStore final : public Store {
 public:
  struct Crash {
    std::size_t unsynced_kept = 0;  // how many of the appends that were not synced come through
    bool tears_last = false;        // the last record that is left loses its second half
  };

  Status Load(RecordSink& sink) override;
  Status Append(std::span<const StoredRecord> records, Durability durability) override;
  Status Replace(const StoredRecord& heading, std::uint64_t first_batch) override;
  Status Sync() override;

  // The k-th write from now on (1: the next; an append, a replacement or a sync) fails with
  // `status`, and so does everything after it until a crash. With `leaves_its_bytes` the write that
  // failed is there all the same, as after an error that came too late.
  void FailWrite(std::uint64_t k, Status status, bool leaves_its_bytes = false);

  void CrashProcess();
  void CrashMachine(Crash crash);

  std::uint64_t writes() const;  // so far, failed ones included
  std::size_t unsynced() const;  // appends that a crash of the machine may lose

 private:
  struct OwnedRecord {
    StoredRecord name;  // without its bytes
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
  std::size_t synced_ = 0;  // how many of the steps
  std::uint64_t writes_ = 0;
  std::uint64_t failing_write_ = 0;  // 0: none
  bool leaves_its_bytes_ = false;
  Status failure_;
};

}  // namespace fairlock::storage
