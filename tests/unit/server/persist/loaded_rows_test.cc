#include "server/persist/loaded_rows.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/server/persist/persist_test_support.h"

namespace fairlock::persist {
namespace {

constexpr std::uint64_t kRows = 50'000;

void PutHold(storage::RecordWriter& record, std::uint64_t token, rows::DurationMs lease_ms) {
  const std::string key = "order:" + std::to_string(token);
  const std::string owner = "worker-" + std::string(80, 'w');
  rows::Hold row{.id = {.token = token, .key = key}};
  row.claim.owner = owner;
  row.claim.lease_ms = lease_ms;
  PutRow(record, row);
}

TEST(LoadedRows, RowsThatAreRewrittenForeverNeedBoundedMemory) {
  LoadedRows rows;
  std::size_t first_bytes = 0;
  for (int round = 0; round < 100; ++round) {
    storage::RecordWriter record;
    for (std::uint64_t token = 1; token <= kRows; ++token) PutHold(record, token, 1'000 + round);
    Replay(record, rows);
    if (round == 0) first_bytes = rows.block_bytes();
    // The memory holds the rows, the same amount of garbage plus at least 16 MiB, and unused ends
    // of blocks.
    ASSERT_LE(rows.block_bytes(), 2 * first_bytes + (std::size_t{24} << 20)) << "round " << round;
  }
  EXPECT_EQ(rows.size(), kRows);
}

TEST(LoadedRows, NothingIsLostWhenGarbageIsReclaimed) {
  LoadedRows rows;
  for (int round = 0; round < 20; ++round) {
    storage::RecordWriter record;
    for (std::uint64_t token = 1; token <= kRows; ++token) {
      const bool is_deleted = (token + static_cast<std::uint64_t>(round)) % 3 == 0;
      const std::string key = "order:" + std::to_string(token);
      if (is_deleted) {
        storage::DeleteHold(record, {.token = token, .key = key});
      } else {
        PutHold(record, token, 60'000 + round);
      }
    }
    Replay(record, rows);
  }
  ASSERT_TRUE(rows.Finish().ok());
  engine::LockEngine engine(engine::EngineOptions{});
  engine::Effects effects;
  rows.RestoreInto(engine, {.now = 1'000});
  engine.restoration().EndRestore(kRows + 1, {1'000, effects});
  storage::RecordWriter record;
  for (std::uint64_t token = 1; token <= kRows; ++token) {
    if ((token + 19) % 3 != 0) PutHold(record, token, 60'019);
  }
  storage::RowTable expected;
  Replay(record, expected);
  EXPECT_EQ(RowsIn(engine, 1'000), TextsOf(expected));
}

// Two such MLOCKs come from two partitions of a fleet that was copied.
TEST(LoadedRows, TwoMlocksWithOneTokenStaySeparate) {
  const std::vector<std::vector<std::string_view>> groups = {{"a1", "a2"}, {"b1", "b2", "b3"}};
  storage::RecordWriter record;
  const auto put = [&] {
    for (const auto& keys : groups) {
      for (const std::string_view key : keys) {
        rows::Hold row{.id = {.token = 7, .key = key}};
        row.claim.owner = "owner";
        row.claim.lease_ms = 60'000;
        row.claim.mlock_keys = keys;
        PutRow(record, row);
      }
    }
  };
  put();
  LoadedRows rows;
  Replay(record, rows);
  ASSERT_TRUE(rows.Finish().ok());
  engine::LockEngine engine(engine::EngineOptions{});
  engine::Effects effects;
  rows.RestoreInto(engine, {.now = 1'000});
  engine.restoration().EndRestore(8, {1'000, effects});
  engine.CheckInvariants();
  put();
  storage::RowTable expected;
  Replay(record, expected);
  EXPECT_EQ(RowsIn(engine, 1'000), TextsOf(expected));
  // Each ends by itself.
  for (const std::string_view key : groups[0]) {
    engine.Unlock({{0, key}, "owner", std::nullopt}, {1'000, effects});
    engine.CheckInvariants();
  }
  EXPECT_EQ(RowsIn(engine, 1'000).size(), groups[1].size());
  for (const std::string_view key : groups[1]) {
    engine.Unlock({{0, key}, "owner", std::nullopt}, {1'000, effects});
  }
  engine.CheckInvariants();
  EXPECT_TRUE(RowsIn(engine, 1'000).empty());
}

}  // namespace
}  // namespace fairlock::persist
