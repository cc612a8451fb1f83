// The RocksDB database: damaged files, a second process that opens it, and its size.

#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>

#include "storage/data_folder/open_data.h"
#include "storage/log/journal.h"
#include "storage/records/rows.h"
#include "storage/rocksdb/log_scan.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Result<OpenedData> Open(const std::string& path, RowTable& table) {
  return OpenData({.directory = {.path = path}}, table);
}

// Opens the folder, appends `batches` batches of one hold each, and closes it.
void AppendBatches(const std::string& path, int batches, std::size_t owner_bytes = 20) {
  RowTable table;
  auto data = Open(path, table);
  ASSERT_TRUE(data.ok()) << data.status().message();
  Journal journal(*data->store, data->end, {}, [] {});
  const std::string owner(owner_bytes, 'o');
  for (int i = 0; i < batches; ++i) {
    const std::uint64_t number = journal.open_batch();
    const std::string key = "key" + std::to_string(number);
    rows::Hold row = PlainHold(key, number);
    row.claim.owner = owner;
    RecordWriter batch;
    PutRow(batch, row);
    ASSERT_EQ(journal.Append(batch).batch, number);
    // Waits, so that each batch is written separately.
    while (journal.depth().records > 0) {
    }
  }
  journal.Stop();
  ASSERT_FALSE(journal.Look().has_failed) << journal.failure().message();
}

// Returns the newest write-ahead log that is not empty.
fs::path LogFile(const std::string& data_path) {
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(data_path + "/db")) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0 && entry.path() > newest) {
      newest = entry.path();
    }
  }
  return newest;
}

Status StatusOfOpening(const std::string& path, std::uint64_t* batches = nullptr) {
  RowTable table;
  const auto data = Open(path, table);
  if (data.ok() && batches != nullptr) *batches = data->end.next_batch - 1;
  return data.status();
}

// Whichever version of RocksDB writes the tables, that of Debian 12 must be able to read them.
TEST(StorageRocksDb, TablesHaveAFormThatBothReleasesOfDebianRead) {
  const ScratchFolder folder;
  AppendBatches(folder.PathOf("data"), 1);
  bool is_found = false;
  for (const auto& entry : fs::directory_iterator(folder.PathOf("data") + "/db")) {
    if (!entry.path().filename().string().starts_with("OPTIONS-")) continue;
    const std::string options = ReadFile(entry.path());
    EXPECT_THAT(options, HasSubstr("\n  format_version=5\n"));
    is_found = true;
  }
  EXPECT_TRUE(is_found);
}

TEST(StorageRocksDb, WhatWasAppendedIsThereAgain) {
  const ScratchFolder folder;
  for (int round = 0; round < 3; ++round) AppendBatches(folder.PathOf("data"), 10);
  RowTable table;
  const auto data = Open(folder.PathOf("data"), table);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->end.next_batch, 31U);
  EXPECT_EQ(table.rows().size(), 30U);
}

TEST(StorageRocksDb, TheScanOfAWholeLogEndsAtItsEnd) {
  const ScratchFolder folder;
  AppendBatches(folder.PathOf("data"), 40, 3'000);  // records that cross the ends of blocks
  const fs::path log = LogFile(folder.PathOf("data"));
  const std::string content = ReadFile(log);
  ASSERT_GT(content.size(), 3U * 32 * 1024);
  const LogScan scan = ScanLog(content);
  EXPECT_EQ(scan.verdict, LogScan::Verdict::kWhole) << scan.what;
  EXPECT_EQ(scan.end, content.size());
}

TEST(StorageRocksDb, EveryCutOfALogIsATornTailOrTheEndOfARecord) {
  const ScratchFolder folder;
  AppendBatches(folder.PathOf("data"), 12);
  const fs::path log = LogFile(folder.PathOf("data"));
  const std::string content = ReadFile(log);
  int whole = 0;
  for (std::size_t size = 0; size < content.size(); ++size) {
    const LogScan scan = ScanLog(content.substr(0, size));
    ASSERT_NE(scan.verdict, LogScan::Verdict::kDamaged) << size << ": " << scan.what;
    if (scan.verdict == LogScan::Verdict::kWhole) ++whole;
  }
  EXPECT_GE(whole, 12);
  // Zeros are space that was reserved, or that had not been written yet when the machine was lost.
  EXPECT_EQ(ScanLog(content + std::string(5'000, '\0')).verdict, LogScan::Verdict::kWhole);
}

TEST(StorageRocksDb, EveryFlippedBitOfALogIsFoundBeforeRocksDbReadsIt) {
  const ScratchFolder folder;
  AppendBatches(folder.PathOf("data"), 12);
  const fs::path log = LogFile(folder.PathOf("data"));
  std::string content = ReadFile(log);
  ASSERT_GT(content.size(), 1'000U);
  for (std::size_t bit = 0; bit < content.size() * 8; ++bit) {
    const auto mask = static_cast<char>(1 << bit % 8);
    content[bit / 8] = static_cast<char>(content[bit / 8] ^ mask);
    const LogScan scan = ScanLog(content);
    ASSERT_EQ(scan.verdict, LogScan::Verdict::kDamaged)
        << "byte " << bit / 8 << ", bit " << bit % 8;
    content[bit / 8] = static_cast<char>(content[bit / 8] ^ mask);
  }
}

// A completely destroyed header reveals nothing, but the record that follows it shows the damage.
TEST(StorageRocksDb, AWholeRecordBehindTheEndOfReadingIsDamage) {
  const ScratchFolder folder;
  AppendBatches(folder.PathOf("data"), 12);
  const fs::path log = LogFile(folder.PathOf("data"));
  std::string content = ReadFile(log);
  const std::size_t second = 7 + static_cast<unsigned char>(content[4]);
  content.replace(second, 6, "\xff\xff\xff\xff\xff\xff");
  const LogScan scan = ScanLog(content);
  EXPECT_EQ(scan.verdict, LogScan::Verdict::kDamaged);
  EXPECT_EQ(scan.end, second);
  EXPECT_THAT(scan.what, HasSubstr("is followed by a complete one"));
}

// Tests opening a folder as a whole. The flips are spread over all files, and after each one,
// either nothing differs or the folder is not opened.
TEST(StorageRocksDb, AFlippedBitInAnyFileIsRefusedOrChangesNothing) {
  const ScratchFolder folder;
  const std::string original = folder.PathOf("original");
  AppendBatches(original, 12);
  AppendBatches(original, 12);  // the first twelve are in a table now
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(original + "/db")) {
    if (!entry.is_regular_file()) continue;
    const std::string content = ReadFile(entry.path());
    const std::size_t stride = 1 + content.size() * 8 / 60;
    for (std::size_t bit = entry.path().string().size() % stride; bit < content.size() * 8;
         bit += stride) {
      const std::string copy = folder.PathOf("copy");
      fs::remove_all(copy);
      fs::remove_all(copy + ".initialised");
      fs::copy(original, copy, fs::copy_options::recursive);
      std::string flipped = content;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      WriteFile(fs::path(copy) / "db" / entry.path().filename(), flipped);
      std::uint64_t batches = 0;
      const Status status = StatusOfOpening(copy, &batches);
      if (!status.ok()) {
        ++refused;
      } else {
        ASSERT_EQ(batches, 24U) << entry.path() << ", byte " << bit / 8 << ", bit " << bit % 8;
      }
    }
  }
  EXPECT_GT(refused, 60);
}

TEST(StorageRocksDb, AMissingDatabaseIsNotTakenForAnEmptyOne) {
  const ScratchFolder folder;
  AppendBatches(folder.PathOf("data"), 5);
  fs::rename(folder.PathOf("data") + "/db", folder.PathOf("elsewhere"));
  EXPECT_FALSE(StatusOfOpening(folder.PathOf("data")).ok());
}

TEST(StorageRocksDb, AMissingLogIsNotTakenForAnEmptyOne) {
  const ScratchFolder folder;
  AppendBatches(folder.PathOf("data"), 5);
  AppendBatches(folder.PathOf("data"), 5);  // the first five are in a table now
  fs::remove(LogFile(folder.PathOf("data")));
  std::uint64_t batches = 0;
  EXPECT_FALSE(StatusOfOpening(folder.PathOf("data"), &batches).ok()) << batches;
}

TEST(StorageRocksDb, ASecondProcessIsToldThatTheFolderIsInUse) {
  const ScratchFolder folder;
  RowTable table;
  const auto first = Open(folder.PathOf("data"), table);
  ASSERT_TRUE(first.ok());
  const Status second = StatusOfOpening(folder.PathOf("data"));
  EXPECT_EQ(second.code(), StatusCode::kRefused);
  EXPECT_THAT(second.message(),
              HasSubstr("is in use by another process, " + std::to_string(getpid())));
}

std::uintmax_t BytesOf(const std::string& path) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    std::error_code gone;
    const std::uintmax_t size = entry.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

// Writes 480 MB of batches, with a snapshot after every 16 MB. What a snapshot makes obsolete is
// removed.
TEST(StorageRocksDb, SnapshotsBoundWhatIsOnDisk) {
  const ScratchFolder folder;
  RowTable table;
  auto data = Open(folder.PathOf("data"), table);
  ASSERT_TRUE(data.ok());
  Journal journal(*data->store, data->end, {}, [] {});
  const std::string owner(8'000, 'o');
  rows::Hold row = PlainHold("key", 1);
  row.claim.owner = owner;
  std::uintmax_t most = 0;
  for (std::uint64_t round = 1; round <= 30; ++round) {
    for (int i = 0; i < 20; ++i) {
      RecordWriter batch;
      for (int row_of_batch = 0; row_of_batch < 100; ++row_of_batch) PutRow(batch, row);
      ASSERT_NE(journal.Append(batch).batch, 0U);
      while (journal.depth().bytes > (4U << 20)) {
      }
    }
    journal.BeginSnapshot();
    RecordWriter slice;
    PutRow(slice, row);
    journal.AppendSlice(slice);
    journal.FinishSnapshot();
    while (journal.Look().snapshot < round) {
    }
    most = std::max(most, BytesOf(folder.PathOf("data") + "/db"));
  }
  EXPECT_LT(most, 250U << 20);
}

}  // namespace
}  // namespace fairlock::storage
