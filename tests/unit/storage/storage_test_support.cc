#include "tests/unit/storage/storage_test_support.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace fairlock::storage {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "fairlock-storage-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteFile(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

LogEnd BeginTestLog(Store& store) {
  EXPECT_TRUE(BeginLog(store, {'t', 'e', 's', 't'}).ok());
  RowTable rows;
  auto end = LoadLog(store, rows);
  EXPECT_TRUE(end.ok());
  return end.value();
}

rows::Hold PlainHold(std::string_view key, std::uint64_t token) {
  rows::Hold row;
  row.id = {.db = 0, .token = token, .key = key};
  row.claim.owner = "worker-1:4711:0123456789abcdef01";
  row.claim.lease_ms = 30'000;
  return row;
}

rows::Hold FullHold() {
  rows::Hold row;
  row.id = {.db = 15, .token = kStoredTokenMax, .key = "order:42"};
  row.claim = {.owner = "worker-1",
               .mode = {.limit = 3, .is_shared = true, .is_limit_given = true},
               .is_redis_way = true,
               .lease_ms = 3'600'000,
               .terms = {.session_grace_ms = 5'000, .min_hold_ms = 250},
               .meta = std::string_view("{\"job\": 1}\0x", 12),
               .label = "until_executed",
               .channel = "grants",
               .mlock_keys = {"order:42", "order:43", "stock"}};
  row.remaining_ms = 1'234'567;
  return row;
}

rows::Place FullPlace() {
  rows::Place row;
  row.arrival = 1ULL << 40;
  row.db = 3;
  row.key = "order:42";
  row.claim = FullHold().claim;
  row.keep_ms = 15'000;
  row.wait_ms = 60'000;
  return row;
}

rows::Cooldown FullCooling() {
  return {.id = {.db = 1, .token = 77, .key = "daily"},
          .mode = {.limit = 2, .is_shared = true, .is_limit_given = true},
          .length_ms = 86'400'000,
          .remaining_ms = 5};
}

LimitRow FullLimit() {
  return {.id = {.db = 2, .pattern = "batch:*"},
          .limit = 0,
          .age = 9,
          .length_ms = 60'000,
          .remaining_ms = 59'000,
          .set_at_unix_ms = 1'790'000'000'000,
          .set_by = "ann",
          .set_from = "10.0.0.7:50312",
          .reason = "database is being moved"};
}

}  // namespace fairlock::storage
