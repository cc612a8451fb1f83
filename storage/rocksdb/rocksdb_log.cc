#include "storage/rocksdb/rocksdb_log.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace fairlock::storage {
namespace {

// Part of a harmless warning: a checkpoint disables the deletion of files twice, about which
// RocksDB warns at each backup.
constexpr std::string_view kHarmless = " File Deletions ";

}  // namespace

RocksDbLog::RocksDbLog(RocksDbMessageSink sink)
    : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), sink_(std::move(sink)) {}

void RocksDbLog::Logv(const char* format, va_list arguments) {
  Logv(rocksdb::InfoLogLevel::WARN_LEVEL, format, arguments);
}

void RocksDbLog::Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) {
  if (!sink_ || level < rocksdb::InfoLogLevel::WARN_LEVEL ||
      level == rocksdb::InfoLogLevel::HEADER_LEVEL) {
    return;
  }
  char text[1024];
  const int length = std::vsnprintf(text, sizeof text, format, arguments);
  if (length <= 0) return;
  std::string_view message(text, std::min<std::size_t>(length, sizeof text - 1));
  while (message.ends_with('\n')) message.remove_suffix(1);
  if (message.find(kHarmless) != std::string_view::npos) return;
  sink_(level >= rocksdb::InfoLogLevel::ERROR_LEVEL, message);
}

}  // namespace fairlock::storage
