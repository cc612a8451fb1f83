#include "storage/records/record.h"

#include <gmock/gmock.h>
#include <xxhash.h>

#include "storage/byte_coding.h"
#include "storage/records/snapshot_heading.h"
#include "tests/unit/storage/decode_anything.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

using testing::HasSubstr;

std::string Sealed(RecordWriter& writer) {
  return std::string(writer.Seal(RecordKind::kBatch, 7, 11));
}

std::string SomeBatch() {
  RecordWriter writer;
  PutRow(writer, FullHold());
  PutRow(writer, PlainHold("order:43", 12));
  DeletePlace(writer, 4711);
  return Sealed(writer);
}

Status OpenStatus(std::string_view bytes, RecordKind kind = RecordKind::kBatch,
                  std::uint64_t number = 7, std::uint64_t previous = 11) {
  return RecordReader::Open(bytes, kind, number, previous).status();
}

TEST(StorageRecord, GivesBackTheChangesInTheirOrder) {
  RecordWriter writer;
  writer.Put(RowKind::kMeta, "key", "value");
  writer.Delete(RowKind::kHold, "gone");
  writer.Put(RowKind::kPlace, "", "");
  const std::string bytes = Sealed(writer);
  auto record = RecordReader::Open(bytes, RecordKind::kBatch, 7, 11);
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(record->checksum(), writer.checksum());
  Change change;
  ASSERT_TRUE(record->Next(change));
  EXPECT_EQ(change.kind, RowKind::kMeta);
  EXPECT_EQ(change.key, "key");
  EXPECT_EQ(change.value, "value");
  ASSERT_TRUE(record->Next(change));
  EXPECT_TRUE(change.is_deletion);
  EXPECT_EQ(change.key, "gone");
  ASSERT_TRUE(record->Next(change));
  EXPECT_FALSE(record->Next(change));
  EXPECT_TRUE(record->status().ok());
}

TEST(StorageRecord, EverySingleFlippedBitIsRefusedAndNamed) {
  const std::string bytes = SomeBatch();
  ASSERT_TRUE(OpenStatus(bytes).ok());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const Status status = OpenStatus(flipped);
    ASSERT_EQ(status.code(), StatusCode::kDamaged) << "bit " << bit;
    ASSERT_THAT(status.message(), HasSubstr("batch 7"));
  }
}

TEST(StorageRecord, EveryCutIsRefused) {
  const std::string bytes = SomeBatch();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_FALSE(OpenStatus(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

TEST(StorageRecord, AnotherKindNumberOrPredecessorIsRefused) {
  const std::string bytes = SomeBatch();
  EXPECT_FALSE(OpenStatus(bytes, RecordKind::kSlice).ok());
  EXPECT_FALSE(OpenStatus(bytes, RecordKind::kBatch, 8).ok());
  EXPECT_FALSE(OpenStatus(bytes, RecordKind::kBatch, 7, 12).ok());
}

TEST(StorageRecord, ALaterFormatIsRefusedWithBothVersionsNamed) {
  std::string bytes = SomeBatch();
  bytes[0] = 2;
  EXPECT_EQ(OpenStatus(bytes).code(), StatusCode::kDamaged);  // a flipped bit
  const std::size_t sealed = bytes.size() - kRecordSealBytes;
  WriteFixed(bytes.data() + sealed, std::uint64_t{XXH3_64bits_withSeed(bytes.data(), sealed, 11)});
  EXPECT_EQ(OpenStatus(bytes).code(), StatusCode::kNewer);
  EXPECT_EQ(OpenStatus(bytes).message(),
            "batch 7 has format version 2, and this program reads only version 1; it was written "
            "by a newer version of fairlock");
}

TEST(StorageRecord, AnUnknownKindOfRowIsNamedWithItsChange) {
  RecordWriter writer;
  writer.Delete(RowKind::kHold, "a");
  writer.AppendRaw(std::string_view("\x09\x01k\x01v", 5));
  writer.EndChange(writer.BeginChange(0));
  const std::string bytes = Sealed(writer);
  auto record = RecordReader::Open(bytes, RecordKind::kBatch, 7, 11);
  ASSERT_TRUE(record.ok());
  Change change;
  EXPECT_TRUE(record->Next(change));
  EXPECT_FALSE(record->Next(change));
  EXPECT_EQ(record->status().code(), StatusCode::kNewer);
  EXPECT_EQ(record->status().message(),
            "batch 7, change 2 of 2 is an unknown kind of row, 9; it was written by a newer "
            "version of fairlock");
}

TEST(StorageRecord, BytesBehindTheLastChangeAreRefused) {
  RecordWriter writer;
  writer.Delete(RowKind::kHold, "a");
  writer.AppendRaw("x");
  const std::string bytes = Sealed(writer);
  auto record = RecordReader::Open(bytes, RecordKind::kBatch, 7, 11);
  Change change;
  EXPECT_TRUE(record->Next(change));
  EXPECT_FALSE(record->Next(change));
  EXPECT_THAT(record->status().message(), HasSubstr("after the last change"));
}

TEST(StorageRecord, AWriterInUseAgainAllocatesNothing) {
  RecordWriter writer;
  PutRow(writer, FullHold());
  (void)writer.Seal(RecordKind::kBatch, 1, 0);
  writer.Clear();
  const char* const before = writer.BeginChange(0);
  PutRow(writer, FullHold());
  EXPECT_EQ(writer.Seal(RecordKind::kBatch, 2, 0).data() + kRecordHeaderBytes, before);
}

TEST(StorageHeading, ComesBackAsItWasWritten) {
  const SnapshotHeading heading{.log_id = {'a', 'b', 'c'},
                                .generation = 5,
                                .slices = 6,
                                .last_slice_checksum = 7,
                                .first_batch = 8,
                                .checksum_before = 9};
  RecordWriter writer;
  const std::string bytes(EncodeHeading(heading, writer));
  const auto decoded = DecodeHeading(bytes, 5);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value(), heading);
  EXPECT_FALSE(DecodeHeading(bytes, 6).ok());
}

TEST(StorageHeading, LogsOfDifferentIdsHaveDifferentChains) {
  EXPECT_NE(HeadingOfNewLog({'a'}).checksum_before, HeadingOfNewLog({'b'}).checksum_before);
  EXPECT_NE(ChainStart("a", 1), ChainStart("a", 2));
}

// The short form of the fuzz target: damaged content is refused, or decoded to rows that encode to
// the same bytes.
TEST(StorageRecord, DamagedContentIsRefusedOrDecodedToWhatEncodesAlike) {
  RecordWriter writer;
  PutRow(writer, FullHold());
  PutRow(writer, FullPlace());
  PutRow(writer, FullCooling());
  PutRow(writer, FullLimit());
  PutRow(writer, MetaRow{.name = MetaName::kLastRun, .number = 3, .text = "boot"});
  DeleteHold(writer, FullHold().id);
  DeleteLimit(writer, FullLimit().id);
  const std::string sealed = Sealed(writer);
  const std::string content =
      sealed.substr(kRecordHeaderBytes, sealed.size() - kRecordHeaderBytes - kRecordSealBytes);
  ASSERT_EQ(DecodeContent(content), 7);
  for (std::size_t at = 0; at < content.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = content;
      damaged[at] = static_cast<char>(byte);
      DecodeContent(damaged);
    }
    DecodeContent(content.substr(0, at));
    DecodeContent(content.substr(at));
    DecodeRaw(content.substr(at));
  }
}

}  // namespace
}  // namespace fairlock::storage
