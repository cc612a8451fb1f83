// Batches report everything that has changed, and their content can be restored.
#include <gtest/gtest.h>

#include "tests/unit/server/persist/persist_test_support.h"

namespace fairlock::persist {
namespace {

constexpr engine::Token kFirstToken = 100;

engine::EngineOptions Options() { return {.reconnect_grace_ms = 100, .first_token = kFirstToken}; }

void PutBack(const RowTexts& texts, LoadedRows& rows) {
  for (const auto& [name, value] : texts) {
    rows.Apply({.kind = static_cast<storage::RowKind>(name.first),
                .is_deletion = false,
                .key = name.second,
                .value = value});
  }
}

class RandomBatches : public testing::TestWithParam<std::uint64_t> {};

// After every turn, however long, replaying the batches gives exactly the engine's rows.
TEST_P(RandomBatches, LeaveWhatTheEngineHas) {
  engine::LockEngine engine(Options());
  BatchWriter writer(engine, 0);
  storage::RowTable table;
  RandomUse use(engine, GetParam());
  std::mt19937_64 chance(GetParam());
  for (int turn = 0; turn < 400; ++turn) {
    for (std::uint64_t step = chance() % 6; step > 0; --step) use.Step();
    storage::RecordWriter batch;
    GrantsOfBatch grants;
    writer.Write({use.now(), 0}, batch, grants);
    if (!batch.empty()) Replay(batch, table);
    ASSERT_EQ(TextsOf(table), RowsIn(engine, use.now())) << "turn " << turn;
  }
}

// An engine restored from the rows has the same rows, and its invariants hold.
TEST_P(RandomBatches, ComeBackIntoANewEngine) {
  engine::LockEngine engine(Options());
  RandomUse use(engine, GetParam());
  for (int step = 0; step < 500; ++step) {
    use.Step();
    if (step % 25 != 0) continue;
    storage::RecordWriter record;
    RowTexts before = RowsIn(engine, use.now());
    std::erase_if(before, [](const auto& row) {
      return row.first.first == static_cast<int>(storage::RowKind::kCooldown);
    });
    LoadedRows rows;
    PutBack(before, rows);
    ASSERT_TRUE(rows.Finish().ok());
    engine::LockEngine restored(Options());
    engine::Effects effects;
    rows.RestoreInto(restored, {.now = 5, .unix_ms = 0, .restart_grace_ms = 50});
    restored.restoration().EndRestore(1'000'000, {5, effects});
    restored.CheckInvariants();
    EXPECT_TRUE(effects.resolutions.empty());
    ASSERT_EQ(RowsIn(restored, 5), before) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomBatches, testing::Range<std::uint64_t>(1, 41));

class BatchesTest : public testing::Test {
 protected:
  ~BatchesTest() override { engine_.sessions().Detach(client_, {now_, effects_}); }

  engine::LockRequest Request(std::string_view owner) const {
    engine::LockRequest request;
    request.key = {0, "key"};
    request.owner = owner;
    request.lease_ms = 5'000;
    return request;
  }
  engine::LockResult Lock(const engine::LockRequest& request) {
    return engine_.Lock(request, client_, {now_, effects_});
  }
  // Ends the turn, and returns how many changes it writes.
  std::uint32_t EndTurn() {
    storage::RecordWriter batch;
    grants_ = {};
    writer_.Write({now_, 0}, batch, grants_);
    return batch.changes();
  }

  engine::LockEngine engine_{Options()};
  engine::Attachment client_{engine_.clients().Connect("test", "default")};
  engine::Effects effects_;
  engine::TimeMs now_ = 1000;
  BatchWriter writer_{engine_, 0};
  GrantsOfBatch grants_;
};

TEST_F(BatchesTest, WhatIsTakenAndReleasedInOneTurnIsNotWritten) {
  Lock(Request("a"));
  engine_.Unlock({{0, "key"}, "a", std::nullopt}, {now_, effects_});
  EXPECT_EQ(EndTurn(), 0U);
  EXPECT_TRUE(grants_.names.empty());
}

TEST_F(BatchesTest, ReleaseAndTheGrantThatFollowsAreOneBatch) {
  Lock(Request("a"));
  engine::LockRequest waiting = Request("b");
  waiting.wait_ms = engine::kForever;
  Lock(waiting);
  EXPECT_EQ(EndTurn(), 1U);
  engine_.Unlock({{0, "key"}, "a", std::nullopt}, {now_, effects_});
  EXPECT_EQ(EndTurn(), 2U);
  EXPECT_EQ(grants_.names.size(), 1U);
}

TEST_F(BatchesTest, RenewingByTheRecordedLengthIsNotWrittenAndByAnotherIs) {
  Lock(Request("a"));
  EndTurn();
  now_ += 100;
  engine_.Renew({{0, "key"}, "a", std::nullopt, std::nullopt}, {now_, effects_});
  engine_.Renew({{0, "key"}, "a", 5'000, std::nullopt}, {now_, effects_});
  Lock(Request("a"));
  EXPECT_EQ(EndTurn(), 0U);
  for (const engine::DurationMs length_ms : {6'000, 4'000}) {
    engine_.Renew({{0, "key"}, "a", length_ms, std::nullopt}, {now_, effects_});
    EXPECT_EQ(EndTurn(), 1U);
    EXPECT_TRUE(grants_.names.empty());
  }
}

TEST_F(BatchesTest, ARenewalThatOnlyLengthensNeverRecordsAShorterLease) {
  Lock(Request("a"));
  EndTurn();
  const auto renew = [&](engine::DurationMs length_ms) {
    engine_.Renew({{0, "key"}, "a", length_ms, std::nullopt, true}, {now_, effects_});
    return EndTurn();
  };
  EXPECT_EQ(renew(4'000), 0U);
  EXPECT_EQ(renew(6'000), 1U);
  // Of the 6 s, 5 are over. The renewal reaches further, but a restart must not forget the 6.
  now_ += 5'000;
  EXPECT_EQ(renew(4'000), 0U);
  EXPECT_EQ(engine_.inspection().Inspect({0, "key"}, 1, {now_, effects_}).holders.at(0).lease_ms,
            6'000);
}

TEST_F(BatchesTest, APlaceThatItsOwnerAsksForAgainAlikeIsWrittenOnce) {
  Lock(Request("a"));
  EndTurn();
  engine::LockRequest kept = Request("b");
  kept.keep_ms = 1'000;
  Lock(kept);
  EXPECT_EQ(EndTurn(), 1U);
  Lock(kept);
  EXPECT_EQ(EndTurn(), 0U);
  kept.keep_ms = 2'000;
  Lock(kept);
  EXPECT_EQ(EndTurn(), 1U);
}

TEST_F(BatchesTest, ARestoredLeaseWithTimeLeftIsWrittenAgainWhenItIsRenewed) {
  engine::LockEngine restored(Options());
  restored.restoration().Restore(rows::Hold{.id = {.token = 7, .key = "key"},
                              .claim = {.owner = "a", .lease_ms = 5'000},
                              .remaining_ms = 10},
                   0, now_);
  restored.restoration().EndRestore(kFirstToken, {now_, effects_});
  BatchWriter writer(restored, 0);
  storage::RecordWriter batch;
  writer.Write({now_, 0}, batch, grants_);
  restored.Renew({{0, "key"}, "a", std::nullopt, std::nullopt}, {now_, effects_});
  EXPECT_TRUE(writer.has_changes());
  writer.Write({now_, 0}, batch, grants_);
  EXPECT_EQ(batch.changes(), 1U);
  restored.Renew({{0, "key"}, "a", std::nullopt, std::nullopt}, {now_, effects_});
  EXPECT_FALSE(writer.has_changes());
}

TEST_F(BatchesTest, OfLongLeasesEachTenthThatHasPassedIsFoundOnce) {
  engine::LockRequest request = Request("a");
  request.lease_ms = 1'000'000;
  Lock(request);
  request.key = {0, "short"};
  request.lease_ms = 50'000;
  Lock(request);
  EndTurn();
  const auto scan = [&](engine::TimeMs then, engine::TimeMs now) {
    storage::RecordWriter record;
    RowWriter rows(record);
    EXPECT_EQ(engine_.snapshots().ScanLongLeases(0, 100, 600'000, then, now, rows), 0U);
    storage::RowTable table;
    if (!record.empty()) Replay(record, table);
    std::vector<rows::DurationMs> left_ms;
    for (const auto& [name, value] : table.rows()) {
      rows::Hold row;
      EXPECT_TRUE(storage::DecodeRow(name.second, value, row));
      left_ms.push_back(row.remaining_ms.value_or(0));
    }
    return left_ms;
  };
  EXPECT_TRUE(scan(now_, now_ + 60'000).empty());
  EXPECT_EQ(scan(now_ + 60'000, now_ + 120'000), std::vector<rows::DurationMs>{880'000});
  EXPECT_TRUE(scan(now_ + 120'000, now_ + 180'000).empty());
  // What is written is the remaining time, so renewing by the same length is a change.
  now_ += 200'000;
  engine_.Renew({{0, "key"}, "a", std::nullopt, std::nullopt}, {now_, effects_});
  EXPECT_EQ(EndTurn(), 1U);
}

TEST_F(BatchesTest, OfTwoEquallySpecificOverridesTheNewestIsStillInForceAfterwards) {
  storage::RowTable table;
  storage::RecordWriter batch;
  const auto set = [&](const char* pattern, std::uint32_t limit) {
    engine::LimitOverride row;
    row.pattern = pattern;
    row.limit = limit;
    ASSERT_TRUE(engine_.limits().Set(row, now_));
    writer_.Write({now_, 0}, batch, grants_);
    Replay(batch, table);
  };
  set("a*c", 1);
  set("*bc", 2);
  set("gone*", 3);
  ASSERT_TRUE(engine_.limits().Drop(0, "gone*", now_));
  writer_.Write({now_, 0}, batch, grants_);
  Replay(batch, table);
  LoadedRows rows;
  for (const auto& [name, value] : table.rows()) {
    rows.Apply({.kind = name.first, .is_deletion = false, .key = name.second, .value = value});
  }
  ASSERT_TRUE(rows.Finish().ok());
  engine::LockEngine restored(Options());
  rows.RestoreInto(restored, {.now = 5, .unix_ms = 0, .restart_grace_ms = 0});
  EXPECT_EQ(restored.limits().Overrides(5).size(), 2U);
  EXPECT_EQ(restored.limits().Overrides(5).Find({0, "abc"}), 2U);
}

}  // namespace
}  // namespace fairlock::persist
