// Logs whose space is written in advance: what may be left of the last write when the machine is
// lost, and how damage is recognised.
#include "storage/rocksdb/prepared_log.h"

#include <gtest/gtest.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "storage/data_folder/backup.h"
#include "storage/data_folder/check_data.h"
#include "storage/data_folder/open_data.h"
#include "storage/records/rows.h"
#include "storage/rocksdb/log_scan.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSectorBytes = 512;

class Folder {
 public:
  Folder() : data_(std::move(Open(path()).value())) {}

  std::string path() const { return folder_.PathOf("data"); }
  std::string PathOf(std::string_view name) const { return folder_.PathOf(name); }

  static Result<OpenedData> Open(const std::string& path, RowTable* rows = nullptr) {
    RowTable own;
    return OpenData({.directory = {.path = path}, .durability = Durability::kMachine},
                    rows != nullptr ? *rows : own);
  }

  // Appends a durable batch of one hold.
  void Append(std::size_t owner_bytes = 20) {
    const std::string key = "key" + std::to_string(number_);
    // The bytes are random, so that none of them looks like part of a log.
    std::string owner(owner_bytes, '\0');
    for (char& byte : owner) byte = static_cast<char>(chance_());
    rows::Hold row = PlainHold(key, number_);
    row.claim.owner = owner;
    RecordWriter batch;
    PutRow(batch, row);
    const StoredRecord record{.number = number_,
                              .bytes = batch.Seal(RecordKind::kBatch, number_, checksum_)};
    ASSERT_TRUE(data_.store->Append({&record, 1}, Durability::kMachine).ok());
    checksum_ = batch.checksum();
    ++number_;
  }

  fs::path log() const {
    fs::path newest;
    for (const auto& entry : fs::directory_iterator(path() + "/db")) {
      if (entry.path().extension() == ".log" && entry.path() > newest) newest = entry.path();
    }
    return newest;
  }
  std::uint64_t batches() const { return number_ - 1; }
  const OpenedData& data() const { return data_; }
  void Close() { data_.store.reset(); }

  // Returns a copy of the current folder in which the log has this content.
  std::string CopyWithLog(const std::string& content) const {
    const std::string copy = folder_.PathOf("copy");
    fs::remove_all(copy);
    fs::remove_all(copy + ".initialised");
    fs::copy(path(), copy, fs::copy_options::recursive);
    WriteFile(fs::path(copy) / "db" / log().filename(), content);
    return copy;
  }

 private:
  ScratchFolder folder_;
  OpenedData data_;
  std::uint64_t number_ = data_.end.next_batch;
  std::uint64_t checksum_ = data_.end.checksum;
  std::mt19937_64 chance_{1};
};

std::size_t EndOfRecords(const std::string& log) { return ScanLog(log).end; }

TEST(StoragePreparedLog, TheFileIsLongerThanWhatIsInItUntilItIsClosed) {
  Folder folder;
  for (int i = 0; i < 20; ++i) folder.Append(40'000);
  const std::string open = ReadFile(folder.log());
  const LogScan scan = ScanLog(open);
  EXPECT_EQ(scan.verdict, LogScan::Verdict::kWhole) << scan.what;
  EXPECT_GT(scan.end, 20U * 40'000);
  EXPECT_EQ(open.size() % kPreparedBytes, 0U);
  EXPECT_GE(open.size(), scan.end + kPreparedBytesMin);
  EXPECT_LT(open.size(), scan.end + kPreparedBytesMin + kPreparedBytes);
  const fs::path log = folder.log();
  folder.Close();
  EXPECT_EQ(ReadFile(log), open.substr(0, scan.end));
}

// Notes what is done to a file: z for writing zeros, d for writing data, s for a sync.
class NotingFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  NotingFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::string& notes)
      : FSWritableFileOwnerWrapper(std::move(file)), notes_(notes) {}

  rocksdb::IOStatus PositionedAppend(const rocksdb::Slice& data, std::uint64_t at,
                                     const rocksdb::IOOptions& options,
                                     rocksdb::IODebugContext* context) override {
    notes_ += data[0] == 0 ? 'z' : 'd';
    return FSWritableFileOwnerWrapper::PositionedAppend(data, at, options, context);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* context) override {
    notes_ += 's';
    return FSWritableFileOwnerWrapper::Sync(options, context);
  }

 private:
  std::string& notes_;
};

class NotingFiles final : public rocksdb::FileSystemWrapper {
 public:
  NotingFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "NotingFiles"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    const rocksdb::IOStatus status =
        FileSystemWrapper::NewWritableFile(path, options, &file, context);
    if (status.ok()) *result = std::make_unique<NotingFile>(std::move(file), notes);
    return status;
  }

  std::string notes;
};

// If the space were not durable first, losing the machine could leave a file that ends in the
// middle of a write with parts missing.
TEST(StoragePreparedLog, SpaceIsDurableBeforeAnythingIsWrittenThere) {
  const ScratchFolder folder;
  const auto noting = std::make_shared<NotingFiles>();
  LogFileSystem files(noting, {.prepares = true});
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(files.NewWritableFile(folder.PathOf("000004.log"), {}, &file, nullptr).ok());
  for (const std::size_t bytes : {std::size_t{10}, kPreparedBytes - 100, std::size_t{10}}) {
    ASSERT_TRUE(file->Append(std::string(bytes, 'x'), {}, nullptr).ok());
  }
  ASSERT_TRUE(file->Append(std::string(3 * kPreparedBytes, 'x'), {}, nullptr).ok());
  EXPECT_EQ(noting->notes, "zsdzsddzzzsd");
}

// If RocksDB saw the prepared length, a copy made during writing would have gaps, namely whatever
// is written after the copying has passed it.
TEST(StoragePreparedLog, ForRocksDbItIsAsLongAsWhatIsInIt) {
  const ScratchFolder folder;
  const std::string path = folder.PathOf("000004.log");
  LogFileSystem files(rocksdb::FileSystem::Default(), {.prepares = true});
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(files.NewWritableFile(path, {}, &file, nullptr).ok());
  const auto size = [&] {
    std::uint64_t bytes = 0;
    EXPECT_TRUE(files.GetFileSize(path, {}, &bytes, nullptr).ok());
    return bytes;
  };
  EXPECT_EQ(size(), 0U);
  const std::string data(kPreparedBytes - kPreparedBytesMin, 'x');
  for (std::size_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(file->Append(data, {}, nullptr).ok());
    EXPECT_EQ(size(), i * data.size());
    EXPECT_EQ(file->GetFileSize({}, nullptr), i * data.size());
    EXPECT_EQ(fs::file_size(path), i * kPreparedBytes);
  }
  ASSERT_TRUE(file->Close({}, nullptr).ok());
  EXPECT_EQ(fs::file_size(path), 3 * data.size());
  file.reset();
  WriteFile(path, "others may write it now");
  EXPECT_EQ(size(), 23U);
}

TEST(StoragePreparedLog, WhatAKilledProcessLeavesIsAllThere) {
  Folder folder;
  for (int i = 0; i < 10; ++i) folder.Append(1 + i * 3'000);
  RowTable rows;
  const auto opened = Folder::Open(folder.CopyWithLog(ReadFile(folder.log())), &rows);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->end.next_batch - 1, folder.batches());
  EXPECT_EQ(rows.rows().size(), folder.batches());
}

// Whatever its length, any sectors of the last write may be missing.
TEST(StoragePreparedLog, WhateverIsLeftOfTheLastWriteIsATornTail) {
  std::mt19937_64 chance(7);
  for (const std::size_t bytes : {20U, 600U, 5'000U, 40'000U, 100'000U}) {
    Folder folder;
    for (int i = 0; i < 5; ++i) folder.Append(900);
    const std::size_t begin = EndOfRecords(ReadFile(folder.log()));
    folder.Append(bytes);
    const std::string whole = ReadFile(folder.log());
    const std::size_t end = EndOfRecords(whole);
    int torn = 0;
    for (int run = 0; run < 60; ++run) {
      std::string left = whole;
      const std::uint64_t odds = 2 + chance() % 8;
      for (std::size_t at = begin; at < end; at = (at / kSectorBytes + 1) * kSectorBytes) {
        const std::size_t count = std::min(end, (at / kSectorBytes + 1) * kSectorBytes) - at;
        const bool is_lost = chance() % odds == 0 || end - begin < kSectorBytes;
        if (is_lost) left.replace(at, count, count, '\0');
      }
      const LogScan scan = ScanLog(left);
      ASSERT_NE(scan.verdict, LogScan::Verdict::kDamaged) << bytes << ": " << scan.what;
      if (left == whole) continue;
      ASSERT_GE(scan.end, begin);
      ASSERT_LT(scan.end, end);
      ++torn;
      if (run % 10 != 0) continue;
      const std::string copy = folder.CopyWithLog(left);
      const auto report = CheckData(copy);
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_EQ(report->damages_found, 0U);
      const auto opened = Folder::Open(copy);
      ASSERT_TRUE(opened.ok()) << bytes << ": " << opened.status().message();
      EXPECT_EQ(opened->end.next_batch - 1, folder.batches() - 1);
    }
    EXPECT_GT(torn, 10) << bytes;
  }
}

TEST(StoragePreparedLog, EveryFlippedBitBeforeTheLastRecordIsDamage) {
  Folder folder;
  for (int i = 0; i < 12; ++i) folder.Append(30);
  const std::size_t last = EndOfRecords(ReadFile(folder.log()));
  folder.Append(30);
  std::string content = ReadFile(folder.log());
  ASSERT_GT(last, 1'000U);
  for (std::size_t bit = 0; bit < last * 8; ++bit) {
    const auto mask = static_cast<char>(1 << bit % 8);
    content[bit / 8] = static_cast<char>(content[bit / 8] ^ mask);
    ASSERT_EQ(ScanLog(content).verdict, LogScan::Verdict::kDamaged)
        << "byte " << bit / 8 << ", bit " << bit % 8;
    content[bit / 8] = static_cast<char>(content[bit / 8] ^ mask);
  }
}

// The record spans several blocks, so what follows it is far away.
TEST(StoragePreparedLog, AFlippedBitInALongRecordIsDamageToo) {
  Folder folder;
  folder.Append(30);
  const std::size_t begin = EndOfRecords(ReadFile(folder.log()));
  folder.Append(150'000);
  const std::size_t end = EndOfRecords(ReadFile(folder.log()));
  folder.Append(30);
  std::string content = ReadFile(folder.log());
  for (std::size_t at = begin; at < end; at += 997) {
    content[at] = static_cast<char>(content[at] ^ 4);
    ASSERT_EQ(ScanLog(content).verdict, LogScan::Verdict::kDamaged) << at - begin;
    content[at] = static_cast<char>(content[at] ^ 4);
  }
}

// A record may be torn in the middle only in prepared space, which a closed log does not have.
TEST(StoragePreparedLog, AFlippedBitAtTheEndOfAClosedLogIsDamage) {
  Folder folder;
  for (int i = 0; i < 3; ++i) folder.Append(30);
  std::string content = ReadFile(folder.log());
  content.resize(EndOfRecords(content));
  content[content.size() - 10] = static_cast<char>(content[content.size() - 10] ^ 1);
  EXPECT_EQ(ScanLog(content).verdict, LogScan::Verdict::kDamaged);
}

TEST(StoragePreparedLog, ABackupWhileItIsWrittenIsWhole) {
  Folder folder;
  folder.Append(300);
  std::atomic<std::uint64_t> written = folder.batches();
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    while (!is_over) {
      folder.Append(300 + folder.batches() % 5'000);
      written = folder.batches();
    }
  });
  for (int i = 0; i < 12; ++i) {
    const std::string path = folder.PathOf("backup" + std::to_string(i));
    const std::uint64_t before = written;
    const Status made = BackUp(folder.data(), path);
    ASSERT_TRUE(made.ok()) << made.message();
    const auto opened = Folder::Open(path);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_GE(opened->end.next_batch - 1, before);
  }
  is_over = true;
  writer.join();
}

}  // namespace
}  // namespace fairlock::storage
