// Prevents a failed write to RocksDB's log from colliding with a sync by another thread.
#pragma once

#include <rocksdb/file_system.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace fairlock::storage {

// RocksDB asserts that no sync of a log begins after a failed write to it, but a thread that starts
// a sync at that moment cannot know of the failure. So the gate hides the failure from RocksDB
// until the current sync has ended, and lets no further sync begin. Thread-safe.
class LogGate {
 public:
  // `folder` is the folder of the database. The gate ignores logs that a backup writes elsewhere.
  explicit LogGate(std::string folder) : folder_(std::move(folder)) {}

  // Whether the file is a log of the database.
  bool IsLog(const std::string& path) const;

  // Returns false if a write has failed.
  [[nodiscard]] bool BeginSync();
  void EndSync();
  void RememberFailedWrite();

  void RememberLog(const std::string& path);
  // The log that is being written; empty if there is none yet.
  std::string newest_log() const;

 private:
  const std::string folder_;
  mutable std::mutex mutex_;
  std::string newest_log_;
  std::condition_variable sync_ended_;
  bool is_syncing_ = false;
  bool has_write_failed_ = false;
};

// Passes calls on to `target`; failed writes to log files go through the gate.
class GatedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  GatedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                  std::shared_ptr<LogGate> gate);

  const char* Name() const override { return "GatedFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override;

 private:
  std::shared_ptr<LogGate> gate_;
};

}  // namespace fairlock::storage
