#include "storage/rocksdb/log_gate.h"

#include <utility>

namespace fairlock::storage {

bool LogGate::IsLog(const std::string& path) const {
  return path.starts_with(folder_ + "/") && path.ends_with(".log") &&
         path.find('/', folder_.size() + 1) == std::string::npos;
}

bool LogGate::BeginSync() {
  const std::lock_guard lock(mutex_);
  is_syncing_ = !has_write_failed_;
  return is_syncing_;
}

void LogGate::EndSync() {
  const std::lock_guard lock(mutex_);
  is_syncing_ = false;
  sync_ended_.notify_all();
}

void LogGate::RememberFailedWrite() {
  std::unique_lock lock(mutex_);
  has_write_failed_ = true;
  sync_ended_.wait(lock, [this] { return !is_syncing_; });
}

void LogGate::RememberLog(const std::string& path) {
  const std::lock_guard lock(mutex_);
  newest_log_ = path;
}

std::string LogGate::newest_log() const {
  const std::lock_guard lock(mutex_);
  return newest_log_;
}

namespace {

class GatedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  GatedFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::shared_ptr<LogGate> gate)
      : FSWritableFileOwnerWrapper(std::move(file)), gate_(std::move(gate)) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
    return Pass(FSWritableFileOwnerWrapper::Append(data, options, context));
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& verification,
                           rocksdb::IODebugContext* context) override {
    return Pass(FSWritableFileOwnerWrapper::Append(data, options, verification, context));
  }

 private:
  rocksdb::IOStatus Pass(rocksdb::IOStatus status) {
    if (!status.ok()) gate_->RememberFailedWrite();
    return status;
  }

  std::shared_ptr<LogGate> gate_;
};

}  // namespace

GatedFileSystem::GatedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                                 std::shared_ptr<LogGate> gate)
    : FileSystemWrapper(target), gate_(std::move(gate)) {}

rocksdb::IOStatus GatedFileSystem::NewWritableFile(const std::string& path,
                                                   const rocksdb::FileOptions& options,
                                                   std::unique_ptr<rocksdb::FSWritableFile>* result,
                                                   rocksdb::IODebugContext* context) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(path, options, &file, context);
  if (!status.ok()) return status;
  const bool is_log = gate_->IsLog(path);
  if (is_log) gate_->RememberLog(path);
  *result = is_log ? std::make_unique<GatedFile>(std::move(file), gate_) : std::move(file);
  return status;
}

}  // namespace fairlock::storage
