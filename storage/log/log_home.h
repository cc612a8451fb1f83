// The place where a log is kept, such as a data folder, apart from the records in it.
#pragma once

#include <cstdint>
#include <optional>

#include "storage/log/load_log.h"
#include "storage/log/store.h"
#include "storage/status.h"

namespace fairlock::storage {

// Used by one thread; for the store, see its own thread rules.
class LogHome {
 public:
  LogHome() = default;
  LogHome(const LogHome&) = delete;
  LogHome& operator=(const LogHome&) = delete;
  virtual ~LogHome() = default;

  virtual Store& store() = 0;
  // The end of the log that was loaded.
  virtual const LogEnd& end() const = 0;

  // Whether another process may have continued from the same state, so that tokens must start
  // higher.
  virtual bool is_copy() const = 0;
  // Call this once, when the first token ceiling is durable.
  virtual Status Settle() = 0;
  // Fails if the next start would not find what is being written. Cheap.
  virtual Status Check() = 0;
  // The number of bytes that can still be written; none: unknown.
  virtual std::optional<std::uint64_t> FreeBytes() const = 0;
};

}  // namespace fairlock::storage
