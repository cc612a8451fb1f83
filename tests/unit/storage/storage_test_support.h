// Rows of every kind, and records made from them, for the storage tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "storage/log/load_log.h"
#include "storage/records/record.h"
#include "storage/records/rows.h"

namespace fairlock::storage {

// An empty folder for one test, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  std::string PathOf(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string ReadFile(const std::filesystem::path& path);
void WriteFile(const std::filesystem::path& path, const std::string& content);

// Starts a log in an empty store; returns the position of its first batch.
LogEnd BeginTestLog(Store& store);

// Returns the hold left by SET key owner NX PX 30000, or by a plain LOCK.
rows::Hold PlainHold(std::string_view key, std::uint64_t token);

// These rows have every option that exists.
rows::Hold FullHold();
rows::Place FullPlace();
rows::Cooldown FullCooling();
LimitRow FullLimit();

}  // namespace fairlock::storage
