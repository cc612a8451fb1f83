// Log files whose space is written with zeros before it is needed.
//
// A sync of a file that has become longer waits for its new size and place too, which is a second
// write, to the journal of the file system. Into space that was written before, it is one. (What
// PostgreSQL does with its log, and why.)
#pragma once

#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace fairlock::storage {

// The size of a log that is prepared is a multiple of this,
inline constexpr std::size_t kPreparedBytes = std::size_t{256} << 10;
// and at least so many zeros stand at its end. One that was closed has neither.
inline constexpr std::size_t kPreparedBytesMin = 4096;

// By the file's name without its folder.
using LogSizes = std::map<std::string, std::uint64_t>;

struct LogFileOptions {
  // Not for logs in which more than the last write may be lost with the machine: what is lost then
  // need not be what stands last.
  bool prepares = false;
  LogSizes readable = {};  // what stands behind this size is not read
};

// The same files as those of `target`. The size of a log that is being written is that of what is
// in it. Thread-safe.
class LogFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  LogFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target, LogFileOptions options);
  ~LogFileSystem() override;

  const char* Name() const override { return "LogFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options,
                                std::uint64_t* size, rocksdb::IODebugContext* context) override;

  // The sizes of those that are being written.
  class Sizes;

 private:
  const LogFileOptions options_;
  const std::shared_ptr<Sizes> sizes_;
};

}  // namespace fairlock::storage
