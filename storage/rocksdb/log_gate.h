// Keeps a failed write of RocksDB's log apart from a sync of it by another thread.
#pragma once

#include <rocksdb/file_system.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace fairlock::storage {

// RocksDB asserts that nobody begins to sync a log whose last write has failed, which nobody can
// know who does it at the same time. So the failure is kept from RocksDB until the sync that is
// under way has ended, and from then on none begins. Thread-safe.
class LogGate {
 public:
  // `folder`: of the database. A backup writes logs elsewhere, which are no concern of the gate.
  explicit LogGate(std::string folder) : folder_(std::move(folder)) {}

  // Whether that file is a log of the database.
  bool IsLog(const std::string& path) const;

  // False: a write has failed.
  [[nodiscard]] bool BeginSync();
  void EndSync();
  void NoteWriteFailed();

  void RememberLog(const std::string& path);
  // The one that is being written; empty: there is none yet.
  std::string newest_log() const;

 private:
  const std::string folder_;
  mutable std::mutex mutex_;
  std::string newest_log_;
  std::condition_variable sync_ended_;
  bool is_syncing_ = false;
  bool has_write_failed_ = false;
};

// The same files as those of `target`; failed writes to log files come through the gate.
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
