#include "storage/rocksdb/rocksdb_store.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <mutex>
#include <utility>

#include "storage/byte_coding.h"
#include "storage/rocksdb/log_gate.h"
#include "storage/rocksdb/log_scan.h"
#include "storage/rocksdb/prepared_log.h"
#include "storage/rocksdb/rocksdb_log.h"

namespace fairlock::storage {
namespace {

constexpr std::size_t kMemtableBytes = std::size_t{16} << 20;
constexpr const char* kFailedBefore = "an earlier write or sync of the store has failed";
constexpr std::size_t kManifestBytesMax = std::size_t{1} << 20;
// The newest form of tables that RocksDB 7.8, of Debian 12, can read. By default, later versions
// write tables that it cannot read.
constexpr std::uint32_t kTableFormat = 5;

// A key consists of the kind and big-endian numbers, so that the order of keys is the order of
// records.
class RecordKey {
 public:
  RecordKey(RecordKind kind, std::uint64_t generation, std::uint64_t number) {
    char* to = bytes_;
    *to++ = static_cast<char>(kind);
    if (kind != RecordKind::kBatch) to = WriteFixed(to, __builtin_bswap64(generation));
    if (kind != RecordKind::kHeading) to = WriteFixed(to, __builtin_bswap64(number));
    size_ = static_cast<std::size_t>(to - bytes_);
  }
  explicit RecordKey(const StoredRecord& record)
      : RecordKey(record.kind, record.generation, record.number) {}

  rocksdb::Slice slice() const { return {bytes_, size_}; }

 private:
  char bytes_[1 + 2 * sizeof(std::uint64_t)];
  std::size_t size_;
};

bool ReadKey(std::string_view key, StoredRecord& record) {
  ByteReader bytes(key);
  record.kind = static_cast<RecordKind>(bytes.Fixed<std::uint8_t>());
  record.generation = record.number = 0;
  if (record.kind != RecordKind::kBatch) {
    record.generation = __builtin_bswap64(bytes.Fixed<std::uint64_t>());
  }
  if (record.kind != RecordKind::kHeading) {
    record.number = __builtin_bswap64(bytes.Fixed<std::uint64_t>());
  } else {
    record.number = record.generation;
  }
  return bytes.AtEnd();
}

Status ToStatus(const rocksdb::Status& status, const std::string& what) {
  if (status.ok()) return {};
  const std::string message = what + ": " + status.ToString();
  return status.IsCorruption() ? Damaged(message) : Failed(message);
}

rocksdb::Options DatabaseOptions(const RocksDbOptions& ours) {
  rocksdb::Options options;
  options.create_if_missing = options.error_if_exists = ours.mode == RocksDbOptions::Mode::kNew;
  options.paranoid_checks = true;
  // The default mode treats a flipped bit as the end of the log.
  const bool salvages = ours.mode == RocksDbOptions::Mode::kSalvage;
  options.wal_recovery_mode = salvages ? rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords
                                       : rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = !salvages;
  // If true, data written by a process that is then killed would be lost.
  options.manual_wal_flush = false;
  // A stop leaves the same files as a kill, so there is only one recovery path, and it is tested.
  options.avoid_flush_during_shutdown = true;
  // With RocksDB's default log, a full disk ends the process within a write.
  options.info_log = std::make_shared<RocksDbLog>(ours.log);
  options.max_bgerror_resume_count = 0;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.write_buffer_size = kMemtableBytes;
  options.max_write_buffer_number = 4;
  options.max_manifest_file_size = kManifestBytesMax;
  options.max_background_jobs = 2;
  options.compression = rocksdb::kNoCompression;
  options.skip_stats_update_on_db_open = true;
  rocksdb::BlockBasedTableOptions tables;
  tables.format_version = kTableFormat;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(tables));
  return options;
}

}  // namespace

struct RocksDbStore::Internals {
  std::string path;
  std::shared_ptr<LogGate> gate;
  std::unique_ptr<rocksdb::Env> env;
  std::unique_ptr<rocksdb::DB> database;
  std::atomic<bool> has_failed = false;
  // Held during each sync, so that there is only one at a time. In RocksDB, one sync waits for
  // another. If one of them belonged to a write that fails, that failure would wait at the gate for
  // the other sync, which in turn would wait for it.
  std::mutex syncing;

  Status Write(rocksdb::WriteBatch& batch, bool with_sync, const std::string& what) {
    std::unique_lock lock(syncing, std::defer_lock);
    if (with_sync) lock.lock();
    rocksdb::WriteOptions options;
    options.sync = with_sync;
    return Judge(database->Write(options, &batch), what);
  }

  Status Judge(const rocksdb::Status& status, const std::string& what) {
    if (!status.ok()) has_failed = true;
    return ToStatus(status, what);
  }
};

RocksDbStore::RocksDbStore(std::unique_ptr<Internals> internals)
    : internals_(std::move(internals)) {}

RocksDbStore::~RocksDbStore() {
  if (internals_->has_failed) static_cast<void>(internals_.release());
}

Result<std::unique_ptr<RocksDbStore>> RocksDbStore::Open(const RocksDbOptions& ours) {
  LogFileOptions log_files{.prepares = ours.durability == Durability::kMachine};
  const bool salvages = ours.mode == RocksDbOptions::Mode::kSalvage;
  if (ours.mode != RocksDbOptions::Mode::kNew && !salvages) {
    auto readable = CheckLogs(ours.path);
    if (!readable.ok()) return readable.status();
    log_files.readable = std::move(readable.value());
  }
  std::error_code ignored;  // RocksDB reports the error
  if (ours.mode == RocksDbOptions::Mode::kNew)
    std::filesystem::create_directories(ours.path, ignored);
  auto internals = std::make_unique<Internals>();
  internals->path = ours.path;
  internals->gate = std::make_shared<LogGate>(ours.path);
  const auto files = std::make_shared<LogFileSystem>(
      ours.file_system ? ours.file_system : rocksdb::FileSystem::Default(), std::move(log_files));
  internals->env =
      rocksdb::NewCompositeEnv(std::make_shared<GatedFileSystem>(files, internals->gate));
  rocksdb::Options options = DatabaseOptions(ours);
  options.env = internals->env.get();
  rocksdb::DB* database = nullptr;
  const bool only_reads = salvages || ours.mode == RocksDbOptions::Mode::kReadOnly;
  const rocksdb::Status status = only_reads
                                     ? rocksdb::DB::OpenForReadOnly(options, ours.path, &database)
                                     : rocksdb::DB::Open(options, ours.path, &database);
  if (!status.ok()) return ToStatus(status, "cannot open the database in " + ours.path);
  internals->database.reset(database);
  return std::unique_ptr<RocksDbStore>(new RocksDbStore(std::move(internals)));
}

Status RocksDbStore::Load(RecordSink& sink) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  for (const RecordKind kind : {RecordKind::kHeading, RecordKind::kSlice, RecordKind::kBatch}) {
    const std::unique_ptr<rocksdb::Iterator> at(internals_->database->NewIterator(options));
    const RecordKey first(kind, 0, 0);
    for (at->Seek(first.slice()); at->Valid(); at->Next()) {
      StoredRecord record;
      if (at->key()[0] != static_cast<char>(kind)) break;
      if (!ReadKey(at->key().ToStringView(), record)) {
        return Newer("the database contains an unknown key, " + at->key().ToString(true));
      }
      record.bytes = at->value().ToStringView();
      Status status = sink.Take(record);
      if (!status.ok()) return status;
    }
    if (!at->status().ok()) return ToStatus(at->status(), "cannot read the database");
  }
  return {};
}

Status RocksDbStore::Append(std::span<const StoredRecord> records, Durability durability) {
  if (internals_->has_failed) return Failed(kFailedBefore);
  rocksdb::WriteBatch batch;
  for (const StoredRecord& record : records) {
    const rocksdb::Status added =
        batch.Put(RecordKey(record).slice(), {record.bytes.data(), record.bytes.size()});
    if (!added.ok()) return internals_->Judge(added, "cannot append");
  }
  return internals_->Write(batch, durability == Durability::kMachine, "cannot append");
}

Status RocksDbStore::Replace(const StoredRecord& heading, std::uint64_t first_batch) {
  if (internals_->has_failed) return Failed(kFailedBefore);
  const auto range = [](RecordKind kind, std::uint64_t generation, std::uint64_t number) {
    return std::pair(RecordKey(kind, 0, 0), RecordKey(kind, generation, number));
  };
  rocksdb::WriteBatch batch;
  rocksdb::Status added;
  for (const auto& [from, to] : {range(RecordKind::kHeading, heading.generation, 0),
                                 range(RecordKind::kSlice, heading.generation, 0),
                                 range(RecordKind::kBatch, 0, first_batch)}) {
    if (added.ok()) added = batch.DeleteRange(from.slice(), to.slice());
  }
  if (added.ok()) {
    added = batch.Put(RecordKey(heading).slice(), {heading.bytes.data(), heading.bytes.size()});
  }
  if (!added.ok()) return internals_->Judge(added, "cannot finish a snapshot");
  return internals_->Write(batch, true, "cannot finish a snapshot");
}

Status RocksDbStore::Sync() {
  const std::lock_guard lock(internals_->syncing);
  if (internals_->has_failed || !internals_->gate->BeginSync()) return Failed(kFailedBefore);
  Status status = internals_->Judge(internals_->database->SyncWAL(), "cannot sync");
  internals_->gate->EndSync();
  return status;
}

Status RocksDbStore::LookForFiles() const {
  for (const std::string& path : {internals_->path + "/CURRENT", internals_->gate->newest_log()}) {
    if (!path.empty() && internals_->env->FileExists(path).IsNotFound()) {
      return Failed(path + " was removed while the server was running");
    }
  }
  return {};
}

Status RocksDbStore::VerifyTables() {
  return ToStatus(internals_->database->VerifyChecksum(), "a table is damaged");
}

Status RocksDbStore::Backup(const std::string& path) {
  if (internals_->has_failed) return Failed(kFailedBefore);
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(internals_->database.get(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  // Makes the checkpoint copy the log as it is, and never flush it to a table, because every
  // database must have a log.
  constexpr std::uint64_t kLogBytesForFlush = std::numeric_limits<std::uint64_t>::max();
  if (status.ok()) status = checkpoint->CreateCheckpoint(path, kLogBytesForFlush);
  return ToStatus(status, "cannot create a backup in " + path);
}

}  // namespace fairlock::storage
