#include "storage/log/salvage.h"

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "storage/records/rows.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The records of a log as a store would pass them on; those of lost batches are left out.
class Log {
 public:
  Log() {
    RecordWriter record;
    const SnapshotHeading heading = HeadingOfNewLog(kId);
    checksum_ = heading.checksum_before;
    Add(RecordKind::kHeading, 0, std::string(EncodeHeading(heading, record)));
  }

  // Adds a batch of what `write` writes; a lost one is written, but not in the store.
  void Batch(const std::function<void(RecordWriter&)>& write, bool is_lost = false) {
    RecordWriter record;
    write(record);
    const std::string bytes(record.Seal(RecordKind::kBatch, ++batches_, checksum_));
    checksum_ = record.checksum();
    if (!is_lost) Add(RecordKind::kBatch, batches_, bytes);
  }
  void LoseBatch() {
    Batch([](RecordWriter& record) { PutRow(record, PlainHold("lost", 1)); }, true);
  }

  Status LoadInto(Salvage& salvage) const {
    for (const Kept& one : records_) {
      Status status = salvage.Take({.kind = one.kind, .number = one.number, .bytes = one.bytes});
      if (!status.ok()) return status;
    }
    return {};
  }

  // Salvages the log, which must be possible.
  SalvageReport Report() const {
    Salvage salvage;
    EXPECT_TRUE(LoadInto(salvage).ok());
    auto report = salvage.Finish();
    EXPECT_TRUE(report.ok());
    return report.ok() ? report.value() : SalvageReport();
  }

 private:
  static constexpr LogId kId = {'l', 'o', 'g'};
  struct Kept {
    RecordKind kind;
    std::uint64_t number;
    std::string bytes;
  };

  void Add(RecordKind kind, std::uint64_t number, std::string bytes) {
    records_.push_back({kind, number, std::move(bytes)});
  }

  std::vector<Kept> records_;
  std::uint64_t batches_ = 0;
  std::uint64_t checksum_ = 0;
};

// What is known of the keys, as "KEY: granted, released, other".
std::vector<std::string> TextOf(const std::vector<LostChange>& lost) {
  std::vector<std::string> texts;
  for (const LostChange& one : lost) {
    std::string text = std::to_string(one.db) + " " + one.key + ":";
    for (const auto& hold : one.granted) text += " granted " + std::to_string(hold.token);
    for (const auto& hold : one.released) text += " released " + std::to_string(hold.token);
    if (one.is_other) text += " other";
    texts.push_back(text);
  }
  return texts;
}

TEST(SalvageTest, AWholeLogHasNoDamage) {
  Log log;
  log.Batch([](RecordWriter& record) { PutRow(record, PlainHold("key", 5)); });
  const SalvageReport report = log.Report();
  EXPECT_EQ(report.damage, "");
  EXPECT_EQ(report.last_batch, 1U);
  EXPECT_THAT(report.lost, IsEmpty());
}

TEST(SalvageTest, LaterBatchesTellWhatIsMissing) {
  Log log;
  rows::Place place = FullPlace();
  log.Batch([&](RecordWriter& record) {
    PutRow(record, PlainHold("released", 5));
    PutRow(record, PlainHold("renewed", 6));
    PutRow(record, PlainHold("same", 7));
    PutRow(record, place);
  });
  log.LoseBatch();
  log.Batch([&](RecordWriter& record) {
    PutRow(record, PlainHold("granted", 8));
    PutRow(record, PlainHold("passing", 9));
    DeleteHold(record, {.token = 5, .key = "released"});
    rows::Hold renewed = PlainHold("renewed", 6);
    renewed.claim.lease_ms = 60'000;
    PutRow(record, renewed);
    PutRow(record, PlainHold("same", 7));
    DeletePlace(record, place.arrival);
    PutRow(record, FullCooling());
  });
  log.Batch([&](RecordWriter& record) { DeleteHold(record, {.token = 9, .key = "passing"}); });
  const SalvageReport report = log.Report();
  EXPECT_THAT(report.damage, HasSubstr("batch 2 is missing"));
  EXPECT_EQ(report.last_batch, 1U);
  EXPECT_EQ(report.later, 2U);
  EXPECT_EQ(report.later_first, 3U);
  EXPECT_EQ(report.later_last, 4U);
  EXPECT_THAT(
      TextOf(report.lost),
      ElementsAre("0 granted: granted 8", "0 released: released 5", "0 renewed: other",
                  "1 daily: other", "3 order:42: other", "3 order:43: other", "3 stock: other"));
}

TEST(SalvageTest, ValuesAreNamedByTheirKeys) {
  Log log;
  const rows::Value large{.id = {.db = 2, .key = "large"}, .number = 17};
  const rows::Element element{.value_number = 17, .name = "field", .text = "1"};
  log.Batch([&](RecordWriter& record) {
    PutRow(record, large);
    PutRow(record, element);
  });
  log.LoseBatch();
  log.Batch([&](RecordWriter& record) {
    rows::Element changed = element;
    changed.text = "2";
    PutRow(record, changed);
    PutRow(record, rows::Value{.id = {.db = 0, .key = "small"}, .parts = {"field", "value"}});
  });
  EXPECT_THAT(TextOf(log.Report().lost), ElementsAre("0 small: other", "2 large: other"));
}

TEST(SalvageTest, TokensAndTimesOfLaterBatchesCount) {
  Log log;
  log.Batch([](RecordWriter& record) {
    PutRow(record, MetaRow{.name = MetaName::kTokenCeiling, .number = 100});
    PutRow(record, PlainHold("key", 5));
  });
  EXPECT_EQ(log.Report().longest_ms, 30'000);
  EXPECT_FALSE(log.Report().has_endless);
  log.LoseBatch();
  log.Batch([](RecordWriter& record) {
    PutRow(record, MetaRow{.name = MetaName::kTokenCeiling, .number = 700});
    rows::Hold endless = PlainHold("endless", 6);
    endless.claim.lease_ms = 0;
    PutRow(record, endless);
    rows::Place place = FullPlace();
    place.claim.lease_ms = 7'200'000;
    PutRow(record, place);
  });
  Salvage salvage;
  ASSERT_TRUE(log.LoadInto(salvage).ok());
  const auto report = salvage.Finish();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->token_max, 700U);
  EXPECT_EQ(report->longest_ms, 7'200'000);
  EXPECT_TRUE(report->has_endless);
  std::uint64_t ceiling = 0;
  std::uint64_t delay_ms = 0;
  for (const auto& [name, value] : salvage.kept().rows()) {
    MetaRow row;
    if (name.first != RowKind::kMeta || !DecodeRow(name.second, value, row)) continue;
    if (row.name == MetaName::kTokenCeiling) ceiling = row.number;
    if (row.name == MetaName::kGrantDelay) delay_ms = row.number;
  }
  EXPECT_GT(ceiling, 700U);
  EXPECT_EQ(delay_ms, 7'200'000U);
}

TEST(SalvageTest, WhatANewerVersionWroteIsNotSalvaged) {
  for (const bool is_later : {false, true}) {
    Log log;
    if (is_later) log.LoseBatch();
    log.Batch([](RecordWriter& record) { record.Put(static_cast<RowKind>(60), "key", "value"); });
    Salvage salvage;
    EXPECT_EQ(log.LoadInto(salvage).code(), StatusCode::kNewer) << is_later;
  }
}

}  // namespace
}  // namespace fairlock::storage
