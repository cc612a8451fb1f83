// What RocksDB has to say, handed to a log of ours.
#pragma once

#include <rocksdb/env.h>

#include <cstdarg>
#include <functional>
#include <string_view>

namespace fairlock::storage {

// Called by threads of RocksDB's, at any time while a database is open.
using RocksDbMessageSink = std::function<void(bool is_error, std::string_view message)>;

// Warnings and errors only. Writes no file, so that a full disk cannot fail it.
class RocksDbLog final : public rocksdb::Logger {
 public:
  explicit RocksDbLog(RocksDbMessageSink sink);

  void Logv(const char* format, va_list arguments) override;
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override;

 private:
  RocksDbMessageSink sink_;
};

}  // namespace fairlock::storage
