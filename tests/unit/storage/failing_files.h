// A RocksDB file system on which every call that writes fails, starting with a given one.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace fairlock::storage {

// Counts every call that changes a file or folder. Call number `first_failing` (from 1) and all
// calls after it fail, as on a full disk. 0 means that none fails.
struct WriteCounter {
  std::atomic<std::uint64_t> calls = 0;
  std::uint64_t first_failing = 0;
  rocksdb::IOStatus failure = rocksdb::IOStatus::NoSpace("no space left on device");
  std::function<void()> at_failure = [] {};

  rocksdb::IOStatus Judge() {
    const std::uint64_t call = ++calls;
    if (first_failing == 0 || call < first_failing) return rocksdb::IOStatus::OK();
    at_failure();
    return failure;
  }
};

class FailingFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FailingFile(std::unique_ptr<rocksdb::FSWritableFile>&& file,
              std::shared_ptr<WriteCounter> counter)
      : FSWritableFileOwnerWrapper(std::move(file)), counter_(std::move(counter)) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
    const rocksdb::IOStatus status = counter_->Judge();
    if (status.ok()) return FSWritableFileOwnerWrapper::Append(data, options, context);
    // Half of the bytes still fit.
    const rocksdb::Slice half(data.data(), data.size() / 2);
    (void)FSWritableFileOwnerWrapper::Append(half, options, context);
    return status;
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo&,
                           rocksdb::IODebugContext* context) override {
    return Append(data, options, context);
  }
  rocksdb::IOStatus PositionedAppend(const rocksdb::Slice& data, std::uint64_t at,
                                     const rocksdb::IOOptions& options,
                                     rocksdb::IODebugContext* context) override {
    const rocksdb::IOStatus status = counter_->Judge();
    if (status.ok())
      return FSWritableFileOwnerWrapper::PositionedAppend(data, at, options, context);
    const rocksdb::Slice half(data.data(), data.size() / 2);
    (void)FSWritableFileOwnerWrapper::PositionedAppend(half, at, options, context);
    return status;
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* context) override {
    const rocksdb::IOStatus status = counter_->Judge();
    return status.ok() ? FSWritableFileOwnerWrapper::Sync(options, context) : status;
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* context) override {
    const rocksdb::IOStatus status = counter_->Judge();
    return status.ok() ? FSWritableFileOwnerWrapper::Fsync(options, context) : status;
  }

 private:
  std::shared_ptr<WriteCounter> counter_;
};

class FailingFiles final : public rocksdb::FileSystemWrapper {
 public:
  explicit FailingFiles(std::shared_ptr<WriteCounter> counter)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), counter_(std::move(counter)) {}

  const char* Name() const override { return "FailingFiles"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override {
    rocksdb::IOStatus status = counter_->Judge();
    if (!status.ok()) return status;
    std::unique_ptr<rocksdb::FSWritableFile> file;
    status = FileSystemWrapper::NewWritableFile(path, options, &file, context);
    if (status.ok()) *result = std::make_unique<FailingFile>(std::move(file), counter_);
    return status;
  }
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    const rocksdb::IOStatus status = counter_->Judge();
    return status.ok() ? FileSystemWrapper::RenameFile(from, to, options, context) : status;
  }

 private:
  std::shared_ptr<WriteCounter> counter_;
};

}  // namespace fairlock::storage
