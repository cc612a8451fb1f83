#include "storage/replicated/repartition.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace fairlock::storage::replicated {
namespace {

// The slot of a key is its first byte; partition 0 has the keys up to "m", partition 1 the others.
RepartitionOptions Halves() {
  return {.partitions = 2,
          .slot_of = [](std::string_view key) { return static_cast<std::uint16_t>(key[0]); },
          .partition_of = [](std::uint16_t slot) { return slot <= 'm' ? 0U : 1U; }};
}

class Rows {
 public:
  template <typename Row>
  Rows& Put(const Row& row) {
    PutRow(batch_, row);
    return *this;
  }
  Rows& Hold(const std::string& key, std::uint64_t token,
             const std::vector<std::string_view>& mlock_keys = {}) {
    const std::string owner = "owner of " + key;
    rows::Hold row{.id = {.token = token, .key = key}};
    row.claim.owner = owner;
    row.claim.mlock_keys = mlock_keys;
    return Put(row);
  }
  Rows& Place(const std::string& key, std::uint64_t arrival, std::string_view owner) {
    rows::Place row{.arrival = arrival, .key = key};
    row.claim.owner = owner;
    return Put(row);
  }
  Rows& Limit(const std::string& pattern, std::uint64_t limit, std::uint64_t set_at) {
    LimitRow row;
    row.id.pattern = pattern;
    row.limit = limit;
    row.age = next_age_++;
    row.set_at_unix_ms = set_at;
    return Put(row);
  }
  Rows& Meta(std::uint64_t ceiling, std::uint64_t flags) {
    Put(MetaRow{.name = MetaName::kTokenCeiling, .number = ceiling});
    return Put(MetaRow{.name = MetaName::kLastRun, .number = flags, .text = "boot"});
  }
  RowTable Table() {
    const std::string bytes(batch_.Seal(RecordKind::kBatch, 1, 0));
    auto reader = RecordReader::Open(bytes, RecordKind::kBatch, 1, 0);
    RowTable table;
    for (Change change; reader->Next(change);) table.Apply(change);
    return table;
  }

 private:
  RecordWriter batch_;
  std::uint64_t next_age_ = 1;
};

template <typename Row>
std::vector<Row> RowsOf(const RowTable& table, RowKind kind) {
  std::vector<Row> found;
  for (const auto& [name, value] : table.rows()) {
    if (name.first != kind) continue;
    Row row;
    EXPECT_TRUE(DecodeRow(name.second, value, row));
    found.push_back(row);
  }
  return found;
}

std::map<std::string, std::uint64_t> TokensIn(const RowTable& table) {
  std::map<std::string, std::uint64_t> tokens;
  for (const auto& hold : RowsOf<rows::Hold>(table, RowKind::kHold)) {
    tokens.emplace(hold.id.key, hold.id.token);
  }
  return tokens;
}

std::vector<std::string> QueueOf(const RowTable& table, const std::string& key) {
  std::vector<std::string> owners;  // the rows of few places are in the order of their arrival
  for (const auto& place : RowsOf<rows::Place>(table, RowKind::kPlace)) {
    if (place.key == key) owners.emplace_back(place.claim.owner);
  }
  return owners;
}

std::map<MetaName, std::uint64_t> MetaOf(const RowTable& table) {
  std::map<MetaName, std::uint64_t> numbers;
  for (const auto& row : RowsOf<MetaRow>(table, RowKind::kMeta)) numbers[row.name] = row.number;
  return numbers;
}

constexpr std::uint64_t kGood = kLastRunPersistedLocks | kLastRunSynced;

TEST(Repartition, HoldsMoveWithTheirKeysAndKeepTheirTokens) {
  Repartition repartition(Halves());
  ASSERT_TRUE(repartition.Add(Rows().Hold("a", 7).Hold("z", 8).Meta(100, kGood).Table()).ok());
  ASSERT_TRUE(repartition.Add(Rows().Hold("b", 7).Hold("y", 300).Meta(200, kGood).Table()).ok());
  const auto tables = repartition.Finish();
  ASSERT_EQ(tables.size(), 2);
  EXPECT_EQ(TokensIn(tables[0]), (std::map<std::string, std::uint64_t>{{"a", 7}, {"b", 7}}));
  EXPECT_EQ(TokensIn(tables[1]), (std::map<std::string, std::uint64_t>{{"z", 8}, {"y", 300}}));
  for (const RowTable& table : tables) {
    EXPECT_EQ(MetaOf(table)[MetaName::kTokenCeiling], 301) << "above every token";
    EXPECT_EQ(MetaOf(table)[MetaName::kLastRun], kGood);
  }
  EXPECT_EQ(repartition.counts().holds, 4);
}

TEST(Repartition, CooldownsMoveWithTheirKeysAndTheirTokensCount) {
  Repartition repartition(Halves());
  Rows rows;
  rows.Put(rows::Cooldown{.id = {.token = 900, .key = "x"}, .length_ms = 5'000});
  ASSERT_TRUE(repartition.Add(rows.Meta(50, kGood).Table()).ok());
  const auto tables = repartition.Finish();
  EXPECT_TRUE(RowsOf<rows::Cooldown>(tables[0], RowKind::kCooldown).empty());
  const auto found = RowsOf<rows::Cooldown>(tables[1], RowKind::kCooldown);
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].length_ms, 5'000);
  EXPECT_EQ(MetaOf(tables[0])[MetaName::kTokenCeiling], 901);
}

TEST(Repartition, ValuesMoveWithTheirKeys) {
  Repartition repartition(Halves());
  Rows rows;
  for (const char* key : {"a", "x", "z"}) {
    rows.Put(rows::Value{.id = {.key = key}, .type = rows::ValueType::kSet, .parts = {"m"}});
  }
  ASSERT_TRUE(repartition.Add(rows.Meta(50, kGood).Table()).ok());
  EXPECT_EQ(repartition.counts().values, 3);
  const auto tables = repartition.Finish();
  EXPECT_EQ(RowsOf<rows::Value>(tables[0], RowKind::kValue).size(), 1);
  EXPECT_EQ(RowsOf<rows::Value>(tables[1], RowKind::kValue).size(), 2);
}

TEST(Repartition, PlacesOfDifferentPartitionsWithOneNumberAreAllKept) {
  Repartition repartition(Halves());
  ASSERT_TRUE(repartition
                  .Add(Rows()
                           .Place("a", 5, "first")
                           .Place("z", 6, "z1")
                           .Place("a", 9, "second")
                           .Meta(1, kGood)
                           .Table())
                  .ok());
  ASSERT_TRUE(repartition
                  .Add(Rows()
                           .Place("b", 5, "b1")
                           .Place("b", 6, "b2")
                           .Place("b", 7, "b3")
                           .Meta(1, kGood)
                           .Table())
                  .ok());
  const auto tables = repartition.Finish();
  EXPECT_EQ(QueueOf(tables[0], "a"), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(QueueOf(tables[0], "b"), (std::vector<std::string>{"b1", "b2", "b3"}));
  EXPECT_EQ(QueueOf(tables[1], "z"), std::vector<std::string>{"z1"});
  EXPECT_EQ(repartition.counts().places, 6);
}

TEST(Repartition, AnMlockMustHaveOneSlot) {
  const RowTable good = Rows().Hold("ab", 7, {"ab", "ac"}).Hold("ac", 7, {"ab", "ac"}).Table();
  const RowTable bad = Rows().Hold("ab", 7, {"ab", "bc"}).Table();
  Repartition repartition(Halves());
  EXPECT_TRUE(repartition.Add(good).ok());
  const Status status = repartition.Add(bad);
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_NE(status.message().find("ab and bc"), std::string::npos) << status.message();
  RepartitionOptions one = Halves();
  one.partitions = 1;
  one.partition_of = [](std::uint16_t) { return 0U; };
  EXPECT_TRUE(Repartition(one).Add(bad).ok()) << "one partition has all slots";
}

TEST(Repartition, OverridesGoToEveryPartitionAndTheNewestCounts) {
  Repartition repartition(Halves());
  const auto same = Rows().Limit("a*", 2, 1'000).Limit("b*", 0, 3'000).Meta(1, kGood).Table();
  const auto other =
      Rows().Limit("b*", 5, 2'000).Limit("a*", 2, 1'001).Limit("c", 9, 500).Meta(1, kGood).Table();
  ASSERT_TRUE(repartition.Add(same).ok());
  ASSERT_TRUE(repartition.Add(other).ok());
  for (const RowTable& table : repartition.Finish()) {
    std::map<std::string, std::uint64_t> limits;
    std::map<std::uint64_t, std::string> by_age;
    for (const auto& row : RowsOf<LimitRow>(table, RowKind::kLimit)) {
      limits.emplace(row.id.pattern, row.limit);
      by_age.emplace(row.age, row.id.pattern);
    }
    EXPECT_EQ(limits, (std::map<std::string, std::uint64_t>{{"a*", 2}, {"b*", 0}, {"c", 9}}));
    EXPECT_EQ(by_age, (std::map<std::uint64_t, std::string>{{1, "c"}, {2, "a*"}, {3, "b*"}}));
  }
  EXPECT_EQ(repartition.mixed_limits(), std::vector<std::string>{"b*"});
  EXPECT_EQ(repartition.partial_limits(), std::vector<std::string>{"c"});
  EXPECT_EQ(repartition.counts().limits, 3);
}

TEST(Repartition, APartitionWithoutALogLacksNoOverride) {
  Repartition repartition(Halves());
  ASSERT_TRUE(repartition.Add(Rows().Limit("a*", 2, 1'000).Meta(1, kGood).Table()).ok());
  ASSERT_TRUE(repartition.Add(RowTable()).ok());
  EXPECT_EQ(repartition.partial_limits(), std::vector<std::string>());
}

TEST(Repartition, AStartDelayGoesOnInEveryPartition) {
  Repartition repartition(Halves());
  ASSERT_TRUE(repartition.Add(Rows().Meta(1, kGood | kLastRunDelayedGrants).Table()).ok());
  ASSERT_TRUE(repartition.Add(Rows().Meta(1, kGood | kLastRunStoppedCleanly).Table()).ok());
  ASSERT_TRUE(repartition.Add(RowTable()).ok()) << "no node ever led this one";
  for (const RowTable& table : repartition.Finish()) {
    EXPECT_EQ(MetaOf(table)[MetaName::kLastRun], kGood | kLastRunDelayedGrants);
  }
}

TEST(Repartition, AFleetWithoutALogHasNoRows) {
  Repartition repartition(Halves());
  for (const RowTable& table : repartition.Finish()) EXPECT_TRUE(table.rows().empty());
}

// Two sources may use the same number for different values.
TEST(RepartitionTest, LargeValuesMoveWithTheirElements) {
  const auto value = [](std::string_view key, std::uint64_t number) {
    return rows::Value{.id = {0, key}, .type = rows::ValueType::kSet, .number = number};
  };
  const auto element = [](std::uint64_t number, std::string_view name) {
    return rows::Element{.value_number = number, .type = rows::ValueType::kSet, .name = name};
  };
  Repartition repartition(Halves());
  ASSERT_TRUE(repartition
                  .Add(Rows()
                           .Put(value("a", 1))
                           .Put(element(1, "of a"))
                           .Put(value("z", 2))
                           .Put(element(2, "of z"))
                           .Put(element(3, "of none"))
                           .Table())
                  .ok());
  ASSERT_TRUE(repartition.Add(Rows().Put(value("b", 1)).Put(element(1, "of b")).Table()).ok());
  const std::vector<RowTable> tables = repartition.Finish();
  std::map<std::string, std::string> names;  // the names by key
  for (const RowTable& table : tables) {
    std::map<std::uint64_t, std::string> keys;
    for (const auto& row : RowsOf<rows::Value>(table, RowKind::kValue)) {
      EXPECT_TRUE(keys.emplace(row.number, row.id.key).second);
    }
    for (const auto& row : RowsOf<rows::Element>(table, RowKind::kElement)) {
      names[keys.at(row.value_number)] += row.name;
    }
  }
  EXPECT_EQ(names,
            (std::map<std::string, std::string>{{"a", "of a"}, {"b", "of b"}, {"z", "of z"}}));
  EXPECT_EQ(RowsOf<rows::Value>(tables[1], RowKind::kValue).size(), 1U);
  EXPECT_EQ(repartition.counts().values, 3U);
}

}  // namespace
}  // namespace fairlock::storage::replicated
