// A store in a local RocksDB database.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "storage/log/store.h"

namespace rocksdb {
class FileSystem;
}  // namespace rocksdb

namespace fairlock::storage {

struct RocksDbOptions {
  std::string path;
  // kNew: the folder must not contain a database. kReadOnly: nothing is written, not even during
  // recovery. kSalvage: the same, but damaged parts of the logs are skipped, so that Load passes on
  // every record that can still be read.
  enum class Mode { kNew, kExisting, kReadOnly, kSalvage } mode = Mode::kExisting;
  // Receives RocksDB's warnings and errors; called by its threads.
  std::function<void(bool is_error, std::string_view message)> log = {};
  std::shared_ptr<rocksdb::FileSystem> file_system = {};  // null: the real file system
  // With kMachine, every append is durable, and the logs are preallocated.
  Durability durability = Durability::kProcess;
};

// After the first error this class neither calls RocksDB again nor closes it: RocksDB would still
// write data that must not be written, and its assertions would end the process.
class RocksDbStore final : public Store {
 public:
  // Scans the log files first, and refuses damage that RocksDB would treat as a torn tail.
  static Result<std::unique_ptr<RocksDbStore>> Open(const RocksDbOptions& options);
  ~RocksDbStore() override;

  Status Load(RecordSink& sink) override;
  Status Append(std::span<const StoredRecord> records, Durability durability) override;
  Status Replace(const StoredRecord& heading, std::uint64_t first_batch) override;
  Status Sync() override;

  // Fails if the files that the next start needs first no longer exist. Any thread may call it.
  Status LookForFiles() const;

  // Reads every table and verifies its checksums.
  Status VerifyTables();

  // Copies the current state into the folder `path`, which must not exist. Any thread may call it,
  // even during appends.
  Status Backup(const std::string& path);

 private:
  struct Internals;
  explicit RocksDbStore(std::unique_ptr<Internals> internals);

  std::unique_ptr<Internals> internals_;
};

}  // namespace fairlock::storage
