// Where a log is kept, apart from its records: a data folder, for example.
#pragma once

#include <cstdint>
#include <optional>

#include "storage/log/load_log.h"
#include "storage/log/store.h"
#include "storage/status.h"

namespace fairlock::storage {

// Used by one thread; the store has its own rules.
class LogHome {
 public:
  LogHome() = default;
  LogHome(const LogHome&) = delete;
  LogHome& operator=(const LogHome&) = delete;
  virtual ~LogHome() = default;

  virtual Store& store() = 0;
  // Of the log that was loaded.
  virtual const LogEnd& end() const = 0;

  // Another process may have continued from the same state, so tokens must start higher.
  virtual bool is_copy() const = 0;
  // Must be called once, when the first token ceiling is durable.
  virtual Status Settle() = 0;
  // Fails if what is written no longer goes to where the next start would read it. Cheap.
  virtual Status Check() = 0;
  // How much can still be written; none: unknown.
  virtual std::optional<std::uint64_t> FreeBytes() const = 0;
};

}  // namespace fairlock::storage
