#include "storage/rocksdb/prepared_log.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace fairlock::storage {

class LogFileSystem::Sizes {
 public:
  void Set(const std::string& name, std::uint64_t size) {
    const std::lock_guard lock(mutex_);
    sizes_[name] = size;
  }
  void Forget(const std::string& name) {
    const std::lock_guard lock(mutex_);
    sizes_.erase(name);
  }
  std::optional<std::uint64_t> Of(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto at = sizes_.find(name);
    return at != sizes_.end() ? std::optional(at->second) : std::nullopt;
  }

 private:
  mutable std::mutex mutex_;
  LogSizes sizes_;
};

namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

std::string NameOf(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

class PreparedLog final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  PreparedLog(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::string name,
              std::shared_ptr<LogFileSystem::Sizes> sizes)
      : FSWritableFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        sizes_(std::move(sizes)) {
    sizes_->Set(name_, 0);
  }
  ~PreparedLog() override { sizes_->Forget(name_); }

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* context) override {
    IOStatus status = Prepare(size_ + data.size(), options, context);
    if (!status.ok()) return status;
    status = PositionedAppend(data, size_, options, context);
    if (!status.ok()) return status;
    size_ += data.size();
    sizes_->Set(name_, size_);
    return status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*of checksums that we do not ask for*/,
                  IODebugContext* context) override {
    return Append(data, options, context);
  }

  IOStatus Truncate(std::uint64_t size, const IOOptions& options,
                    IODebugContext* context) override {
    IOStatus status = FSWritableFileOwnerWrapper::Truncate(size, options, context);
    if (status.ok()) size_ = prepared_ = size;
    return status;
  }

  IOStatus Close(const IOOptions& options, IODebugContext* context) override {
    IOStatus cut = Truncate(size_, options, context);
    IOStatus closed = FSWritableFileOwnerWrapper::Close(options, context);
    return cut.ok() ? closed : cut;
  }

  std::uint64_t GetFileSize(const IOOptions& /*options*/, IODebugContext* /*context*/) override {
    return size_;
  }

 private:
  IOStatus Prepare(std::uint64_t size, const IOOptions& options, IODebugContext* context) {
    if (size + kPreparedBytesMin <= prepared_) return IOStatus::OK();
    static const std::string zeros(kPreparedBytes, '\0');
    const std::uint64_t up_to =
        (size + kPreparedBytesMin + kPreparedBytes - 1) / kPreparedBytes * kPreparedBytes;
    while (prepared_ < up_to) {
      const std::size_t count = kPreparedBytes - prepared_ % kPreparedBytes;
      IOStatus status = PositionedAppend({zeros.data(), count}, prepared_, options, context);
      if (!status.ok()) return status;
      prepared_ += count;
    }
    // Parts of this write may survive a crash. They can be distinguished from damage only if the
    // zeros after it survive too.
    return Sync(options, context);
  }

  const std::string name_;
  const std::shared_ptr<LogFileSystem::Sizes> sizes_;
  std::uint64_t size_ = 0;
  std::uint64_t prepared_ = 0;
};

// A file of which only the beginning, up to a given size, can be read.
class BeginningOfFile final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  BeginningOfFile(std::unique_ptr<rocksdb::FSSequentialFile>&& file, std::uint64_t size)
      : FSSequentialFileOwnerWrapper(std::move(file)), left_(size) {}

  IOStatus Read(std::size_t count, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* context) override {
    IOStatus status = FSSequentialFileOwnerWrapper::Read(
        static_cast<std::size_t>(std::min<std::uint64_t>(count, left_)), options, result, scratch,
        context);
    left_ -= std::min<std::uint64_t>(left_, result->size());
    return status;
  }
  IOStatus Skip(std::uint64_t count) override {
    const std::uint64_t skipped = std::min(count, left_);
    left_ -= skipped;
    return FSSequentialFileOwnerWrapper::Skip(skipped);
  }

 private:
  std::uint64_t left_;
};

}  // namespace

LogFileSystem::LogFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                             LogFileOptions options)
    : FileSystemWrapper(target), options_(std::move(options)), sizes_(std::make_shared<Sizes>()) {}

LogFileSystem::~LogFileSystem() = default;

IOStatus LogFileSystem::NewWritableFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result,
                                        IODebugContext* context) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = FileSystemWrapper::NewWritableFile(path, options, &file, context);
  if (!status.ok()) return status;
  if (options_.prepares && path.ends_with(".log")) {
    *result = std::make_unique<PreparedLog>(std::move(file), NameOf(path), sizes_);
  } else {
    *result = std::move(file);
  }
  return status;
}

IOStatus LogFileSystem::NewSequentialFile(const std::string& path,
                                          const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                          IODebugContext* context) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  IOStatus status = FileSystemWrapper::NewSequentialFile(path, options, &file, context);
  if (!status.ok()) return status;
  const auto readable = options_.readable.find(NameOf(path));
  if (readable != options_.readable.end()) {
    *result = std::make_unique<BeginningOfFile>(std::move(file), readable->second);
  } else {
    *result = std::move(file);
  }
  return status;
}

IOStatus LogFileSystem::GetFileSize(const std::string& path, const IOOptions& options,
                                    std::uint64_t* size, IODebugContext* context) {
  if (const auto written = sizes_->Of(NameOf(path))) {
    *size = *written;
    return IOStatus::OK();
  }
  return FileSystemWrapper::GetFileSize(path, options, size, context);
}

}  // namespace fairlock::storage
