// A store without a disk, for tests and as the simplest implementation of the interface.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "storage/log/store.h"

namespace fairlock::storage {

// Keeps its content as long as it exists; loading it again simulates a restart. Thread-safe.
class MemoryStore final : public Store {
 public:
  Status Load(RecordSink& sink) override;
  Status Append(std::span<const StoredRecord> records, Durability durability) override;
  Status Replace(const StoredRecord& heading, std::uint64_t first_batch) override;
  Status Sync() override { return {}; }

  std::size_t batches() const;
  std::size_t slices() const;

 private:
  void Keep(const StoredRecord& record);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::string> headings_;  // the headings by generation
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> slices_;
  std::map<std::uint64_t, std::string> batches_;
};

}  // namespace fairlock::storage
