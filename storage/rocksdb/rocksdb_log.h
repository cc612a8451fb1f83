// Passes RocksDB's messages on to the server's log.
#pragma once

#include <rocksdb/env.h>

#include <cstdarg>
#include <functional>
#include <string_view>

namespace fairlock::storage {

// Called by RocksDB's threads, at any time while a database is open.
using RocksDbMessageSink = std::function<void(bool is_error, std::string_view message)>;

// Passes on warnings and errors only. Writes no file, so a full disk cannot make it fail.
class RocksDbLog final : public rocksdb::Logger {
 public:
  explicit RocksDbLog(RocksDbMessageSink sink);

  void Logv(const char* format, va_list arguments) override;
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override;

 private:
  RocksDbMessageSink sink_;
};

}  // namespace fairlock::storage
