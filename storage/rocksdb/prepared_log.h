// Fills the space of log files with zeros before it is needed.
//
// A sync of a file that has grown must also write its new size and location to the journal of the
// file system, which is a second write. If the space has been written before, one write is enough.
// PostgreSQL preallocates its log for the same reason.
#pragma once

#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace fairlock::storage {

// The size of a preallocated log is a multiple of kPreparedBytes, and it ends with at least
// kPreparedBytesMin zeros. Neither is true of a log that was closed.
inline constexpr std::size_t kPreparedBytes = std::size_t{256} << 10;
inline constexpr std::size_t kPreparedBytesMin = 4096;

// The sizes of logs by their file names, without the folder.
using LogSizes = std::map<std::string, std::uint64_t>;

struct LogFileOptions {
  // Must be false for logs in which a machine failure can lose more than the last write, because
  // the lost data need not be at the end.
  bool prepares = false;
  LogSizes readable = {};  // data after this size is not read
};

// Passes calls on to `target`. For a log that is being written, reports the size of its content,
// without the zeros. Thread-safe.
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

  // The sizes of the logs that are being written.
  class Sizes;

 private:
  const LogFileOptions options_;
  const std::shared_ptr<Sizes> sizes_;
};

}  // namespace fairlock::storage
