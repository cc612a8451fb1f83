#include "storage/records/rows.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

// Reads the only change that `put` adds to a record.
class OneChange {
 public:
  template <typename Row>
  explicit OneChange(const Row& row) {
    RecordWriter writer;
    PutRow(writer, row);
    bytes_ = writer.Seal(RecordKind::kBatch, 1, 0);
    auto record = RecordReader::Open(bytes_, RecordKind::kBatch, 1, 0);
    EXPECT_TRUE(record->Next(change_));
    Change more;
    EXPECT_FALSE(record->Next(more));
    EXPECT_TRUE(record->status().ok()) << record->status().message();
  }

  const Change& operator*() const { return change_; }
  const Change* operator->() const { return &change_; }

 private:
  std::string bytes_;
  Change change_;
};

template <typename Row>
void ExpectComesBack(const Row& row, RowKind kind) {
  const OneChange change(row);
  EXPECT_EQ(change->kind, kind);
  EXPECT_TRUE(IsWellFormed(*change));
  Row decoded;
  ASSERT_TRUE(DecodeRow(change->key, change->value, decoded));
  EXPECT_EQ(decoded, row);
  // Decoding into a row that was used before keeps nothing of its former content.
  Row used = row;
  ASSERT_TRUE(DecodeRow(change->key, change->value, used));
  EXPECT_EQ(used, row);
}

TEST(StorageRows, EveryKindComesBackWithAllItsOptions) {
  ExpectComesBack(FullHold(), RowKind::kHold);
  ExpectComesBack(FullPlace(), RowKind::kPlace);
  ExpectComesBack(FullCooling(), RowKind::kCooldown);
  ExpectComesBack(FullLimit(), RowKind::kLimit);
  ExpectComesBack(MetaRow{.name = MetaName::kTokenCeiling, .number = 1ULL << 52, .text = ""},
                  RowKind::kMeta);
}

TEST(StorageRows, ValuesOfEveryTypeComeBack) {
  rows::Value row{.id = {3, "key"}, .type = rows::ValueType::kHash, .parts = {"f", ""}};
  ExpectComesBack(row, RowKind::kValue);
  row.ttl_ms = 30'000;
  ExpectComesBack(row, RowKind::kValue);
  row.remaining_ms = 0;
  ExpectComesBack(row, RowKind::kValue);
  row.type = rows::ValueType::kList;
  ExpectComesBack(row, RowKind::kValue);
  row.type = rows::ValueType::kSet;
  ExpectComesBack(row, RowKind::kValue);
  row.type = rows::ValueType::kSortedSet;
  row.scores = {-1.5, std::numeric_limits<double>::infinity()};
  const std::string member(1'000, 'm');
  row.parts = {member, ""};
  ExpectComesBack(row, RowKind::kValue);
}

TEST(StorageRows, ValuesThatNoServerWritesAreRefused) {
  const auto is_well_formed = [](const rows::Value& row) {
    const OneChange change(row);
    return IsWellFormed(*change);
  };
  const rows::ValueId id{0, "k"};
  EXPECT_FALSE(is_well_formed({.id = id, .type = rows::ValueType::kHash, .parts = {"f"}}));
  EXPECT_FALSE(is_well_formed({.id = id, .type = rows::ValueType::kList}));
  EXPECT_TRUE(is_well_formed({.id = {}, .type = rows::ValueType::kList, .parts = {"e"}}));
  EXPECT_FALSE(is_well_formed(
      {.id = id, .type = rows::ValueType::kList, .remaining_ms = 1, .parts = {"e"}}));
  for (const double score : {-0.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(is_well_formed(
        {.id = id, .type = rows::ValueType::kSortedSet, .parts = {"m"}, .scores = {score}}));
  }
}

TEST(StorageRows, TheDeletionOfAValueNamesTheRowThatWasPut) {
  const OneChange put(rows::Value{.id = {1, "k"}, .parts = {"f", "v"}});
  RecordWriter writer;
  DeleteValue(writer, {1, "k"});
  const std::string bytes(writer.Seal(RecordKind::kBatch, 1, 0));
  auto record = RecordReader::Open(bytes, RecordKind::kBatch, 1, 0);
  Change change;
  ASSERT_TRUE(record->Next(change));
  EXPECT_TRUE(change.is_deletion && IsWellFormed(change));
  EXPECT_EQ(change.key, put->key);
}

TEST(StorageRows, LargeValuesAndTheirElementsComeBack) {
  rows::Value row{.id = {3, "key"}, .type = rows::ValueType::kSet, .number = 1ULL << 60};
  ExpectComesBack(row, RowKind::kValue);
  row.ttl_ms = 1;
  row.remaining_ms = 2;
  ExpectComesBack(row, RowKind::kValue);
  for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{1} << 63}) {
    ExpectComesBack(rows::Element{number, rows::ValueType::kHash, "f", 0, "v"}, RowKind::kElement);
    ExpectComesBack(rows::Element{number, rows::ValueType::kHash}, RowKind::kElement);
    ExpectComesBack(rows::Element{number, rows::ValueType::kList, "", -5, "v"}, RowKind::kElement);
    ExpectComesBack(rows::Element{number, rows::ValueType::kSet, "m"}, RowKind::kElement);
    ExpectComesBack(rows::Element{number, rows::ValueType::kSortedSet, "m", 0, "", -1.5},
                    RowKind::kElement);
  }
}

TEST(StorageRows, ElementsThatNoServerWritesAreRefused) {
  const std::string id("\x01\x04m", 3);  // value 1, a set
  EXPECT_TRUE(
      IsWellFormed({.kind = RowKind::kElement, .is_deletion = false, .key = id, .value = ""}));
  EXPECT_FALSE(
      IsWellFormed({.kind = RowKind::kElement, .is_deletion = false, .key = id, .value = "v"}));
  for (const std::string_view key :
       {std::string_view("\x00\x04m", 3), std::string_view("\x01\x05m", 3),
        std::string_view("\x01", 1), std::string_view("\x01\x02m", 3)}) {
    EXPECT_FALSE(
        IsWellFormed({.kind = RowKind::kElement, .is_deletion = false, .key = key, .value = ""}));
    EXPECT_FALSE(
        IsWellFormed({.kind = RowKind::kElement, .is_deletion = true, .key = key, .value = ""}));
  }
  const OneChange nan(rows::Element{1, rows::ValueType::kSortedSet, "m", 0, "",
                                    std::numeric_limits<double>::quiet_NaN()});
  EXPECT_FALSE(IsWellFormed(*nan));
}

TEST(StorageRows, TheKeysOfElementsBeginWithTheirValue) {
  for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{300}}) {
    const OneChange put(rows::Element{number, rows::ValueType::kSet, "m"});
    EXPECT_TRUE(put->key.starts_with(KeyPrefixOfElements(number)));
    RecordWriter writer;
    DeleteElement(writer, {number, rows::ValueType::kSet, "m"});
    const std::string bytes(writer.Seal(RecordKind::kBatch, 1, 0));
    auto record = RecordReader::Open(bytes, RecordKind::kBatch, 1, 0);
    Change change;
    ASSERT_TRUE(record->Next(change));
    EXPECT_TRUE(change.is_deletion && IsWellFormed(change));
    EXPECT_EQ(change.key, put->key);
    const OneChange value(rows::Value{.id = {0, "k"}, .ttl_ms = 7, .number = number});
    EXPECT_EQ(NumberOfValue(value->value), number);
  }
  const OneChange small(rows::Value{.id = {0, "k"}, .parts = {"f", "v"}});
  EXPECT_EQ(NumberOfValue(small->value), 0U);
}

TEST(StorageRows, EachOptionComesBackAlone) {
  rows::Hold row = PlainHold("k", 1);
  row.claim.lease_ms = 0;
  ExpectComesBack(row, RowKind::kHold);
  const auto with = [&](const auto& change) {
    rows::Hold changed = row;
    change(changed);
    ExpectComesBack(changed, RowKind::kHold);
    EXPECT_NE(changed, row);
  };
  with([](rows::Hold& r) { r.claim.mode.limit = 1'000'000'000; });
  with([](rows::Hold& r) { r.claim.mode.limit = 0; });
  with([](rows::Hold& r) { r.claim.mode.is_shared = true; });
  with([](rows::Hold& r) { r.claim.mode.is_limit_given = true; });
  with([](rows::Hold& r) { r.claim.is_redis_way = true; });
  with([](rows::Hold& r) { r.claim.lease_ms = 1; });
  with([](rows::Hold& r) { r.claim.terms.session_grace_ms = 0; });
  with([](rows::Hold& r) { r.claim.terms.min_hold_ms = 1; });
  with([](rows::Hold& r) { r.claim.meta = ""; });
  with([](rows::Hold& r) { r.claim.label = "l"; });
  with([](rows::Hold& r) { r.claim.channel = "c"; });
  with([](rows::Hold& r) { r.claim.mlock_keys = {"k"}; });
  with([](rows::Hold& r) { r.remaining_ms = 0; });
  with([](rows::Hold& r) { r.is_leaving = true; });
}

TEST(StorageRows, ValuesOfEveryLengthComeBack) {
  for (std::size_t bytes : {1, 80, 119, 120, 121, 127, 128, 129, 8'192}) {
    rows::Hold row = PlainHold("key", 5);
    const std::string owner(bytes, 'o');
    row.claim.owner = owner;
    ExpectComesBack(row, RowKind::kHold);
  }
  rows::Hold row = FullHold();
  const std::string meta(4'096, 'm');
  const std::string key(1'024, 'k');
  row.claim.meta = meta;
  row.claim.mlock_keys.assign(64, key);
  ExpectComesBack(row, RowKind::kHold);
}

TEST(StorageRows, APlainHoldTakesFewBytesBesidesItsNames) {
  const rows::Hold row = PlainHold("order:1234", 1ULL << 47);
  RecordWriter writer;
  PutRow(writer, row);
  const std::size_t names = row.id.key.size() + row.claim.owner.size();
  // The bytes counted are the kind, the lengths of row key and value, the database, the token (7),
  // the flags, the owner's length and the lease (3).
  EXPECT_EQ(writer.size() - kRecordHeaderBytes - names, 16U);
}

TEST(StorageRows, TheDeletionOfAHoldNamesTheRowThatWasPut) {
  const OneChange put(FullHold());
  RecordWriter writer;
  DeleteHold(writer, FullHold().id);
  const std::string bytes(writer.Seal(RecordKind::kBatch, 1, 0));
  auto record = RecordReader::Open(bytes, RecordKind::kBatch, 1, 0);
  Change deletion;
  ASSERT_TRUE(record->Next(deletion));
  EXPECT_TRUE(deletion.is_deletion);
  EXPECT_EQ(deletion.key, put->key);
  EXPECT_TRUE(IsWellFormed(deletion));
}

TEST(StorageRows, TheHoldsOfOneMlockAreDifferentRows) {
  EXPECT_NE(OneChange(PlainHold("a", 7))->key, OneChange(PlainHold("b", 7))->key);
}

TEST(StorageRows, AFlagOfALaterVersionIsRefused) {
  // The value has the flag 2^15 and the owner "o".
  rows::Hold row;
  EXPECT_FALSE(
      DecodeRow(std::string_view("\0\1k", 3), std::string_view("\x80\x80\x02\x01o", 5), row));
  EXPECT_TRUE(DecodeRow(std::string_view("\0\1k", 3), std::string_view("\x00\x01o", 3), row));
}

TEST(StorageRows, APartWithTheValueThatMeansAbsentIsRefused) {
  rows::Hold row;
  const auto decodes = [&](std::string_view value) {
    return DecodeRow(std::string_view("\0\1k", 3), value, row);
  };
  // Each value has one flag, 2^3 (LIMIT), 2^4 (lease) or 2^9 (LABEL), then the owner "o" and the
  // part.
  EXPECT_FALSE(decodes(std::string_view("\x08\x01o\x01", 4)));
  EXPECT_TRUE(decodes(std::string_view("\x08\x01o\x02", 4)));
  EXPECT_FALSE(decodes(std::string_view("\x10\x01o\x00", 4)));
  EXPECT_TRUE(decodes(std::string_view("\x10\x01o\x01", 4)));
  EXPECT_FALSE(decodes(std::string_view("\x80\x04\x01o\x00", 5)));
  EXPECT_TRUE(decodes(std::string_view("\x80\x04\x01o\x01l", 6)));
}

TEST(StorageRows, ANumberThatDoesNotFitIsRefused) {
  rows::Hold row;
  const auto decodes = [&](std::string_view value) {
    return DecodeRow(std::string_view("\0\1k", 3), value, row);
  };
  // LIMIT may be 2^32 - 1, but not 2^32; a lease may be 2^63 - 1, but not 2^63.
  EXPECT_TRUE(decodes(std::string_view("\x08\x01o\xff\xff\xff\xff\x0f", 8)));
  EXPECT_FALSE(decodes(std::string_view("\x08\x01o\x80\x80\x80\x80\x10", 8)));
  EXPECT_TRUE(decodes("\x10\x01o\xff\xff\xff\xff\xff\xff\xff\xff\x7f"));
  EXPECT_FALSE(decodes("\x10\x01o\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
}

TEST(StorageRows, ATokenBeyondTheLargestIsRefused) {
  rows::Hold row = PlainHold("k", kStoredTokenMax + 1);
  EXPECT_FALSE(IsWellFormed(*OneChange(row)));
}

TEST(StorageRows, AHoldIsNoPlace) {
  const OneChange hold(PlainHold("k", 1));
  rows::Place place;
  EXPECT_FALSE(DecodeRow(hold->key, hold->value, place));
}

}  // namespace
}  // namespace fairlock::storage
