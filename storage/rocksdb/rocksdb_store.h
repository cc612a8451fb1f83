// A store in a RocksDB database of this machine.
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
  // kNew: the folder must hold no database yet. kReadOnly: nothing is written, not even by
  // recovery.
  enum class Mode { kNew, kExisting, kReadOnly } mode = Mode::kExisting;
  // Warnings and errors of RocksDB's; called by its threads.
  std::function<void(bool is_error, std::string_view message)> log = {};
  std::shared_ptr<rocksdb::FileSystem> file_system = {};  // null: the machine's
  // kMachine: every append will be made so, and the logs are prepared for it.
  Durability durability = Durability::kProcess;
};

// After the first error RocksDB is not called again, and not closed either: what it would still
// write is not wanted, and its assertions would end the process.
class RocksDbStore final : public Store {
 public:
  // Reads the log files first, and refuses what RocksDB would take for a torn tail though it is
  // damage.
  static Result<std::unique_ptr<RocksDbStore>> Open(const RocksDbOptions& options);
  ~RocksDbStore() override;

  Status Load(RecordSink& sink) override;
  Status Append(std::span<const StoredRecord> records, Durability durability) override;
  Status Replace(const StoredRecord& heading, std::uint64_t first_batch) override;
  Status Sync() override;

  // Fails when the files that the next start needs first are not there any more. May be called by
  // another thread.
  Status LookForFiles() const;

  // Reads every table and compares its checksums.
  Status VerifyTables();

  // A copy as of now in the folder `path`, which must not exist; may be called by another thread
  // while appends go on.
  Status Backup(const std::string& path);

 private:
  struct Internals;
  explicit RocksDbStore(std::unique_ptr<Internals> internals);

  std::unique_ptr<Internals> internals_;
};

}  // namespace fairlock::storage
