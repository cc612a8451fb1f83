#include "storage/data_folder/check_data.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "storage/data_folder/backup.h"
#include "storage/data_folder/open_data.h"
#include "storage/log/journal.h"
#include "storage/records/rows.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Writes ten holds in a snapshot of two slices, then `batches` batches of one hold each, and a
// ceiling.
void Fill(OpenedData& data, int batches) {
  Journal journal(*data.store, data.end, {}, [] {});
  RecordWriter record;
  journal.BeginSnapshot();
  for (std::uint64_t slice = 0; slice < 2; ++slice) {
    for (std::uint64_t i = 0; i < 5; ++i) PutRow(record, PlainHold("k", slice * 5 + i + 1));
    journal.AppendSlice(record);
  }
  journal.FinishSnapshot();
  PutRow(record, MetaRow{.name = MetaName::kTokenCeiling, .number = 4'711, .text = {}});
  journal.Append(record);
  for (int i = 1; i < batches; ++i) {
    PutRow(record, PlainHold("k", 100 + static_cast<std::uint64_t>(i)));
    journal.Append(record);
  }
  journal.Stop();
  ASSERT_FALSE(journal.Look().has_failed);
}

class StorageCheckData : public testing::Test {
 protected:
  std::string path() const { return folder_.PathOf("data"); }

  OpenedData Open(const std::string& path) {
    RowTable table;
    auto data = OpenData({.directory = {.path = path}}, table);
    EXPECT_TRUE(data.ok()) << data.status().message();
    rows_ = table.rows().size();
    return std::move(data.value());
  }

  DataReport Check(const std::string& path) {
    const auto report = CheckData(path);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? report.value() : DataReport();
  }

  ScratchFolder folder_;
  std::size_t rows_ = 0;  // how many rows the last Open read
};

TEST_F(StorageCheckData, WholeDataIsCountedAndNothingIsFound) {
  {
    OpenedData data = Open(path());
    Fill(data, 20);
  }
  const DataReport report = Check(path());
  EXPECT_THAT(report.damages, IsEmpty());
  EXPECT_TRUE(report.is_whole());
  EXPECT_EQ(report.generation, 1U);
  EXPECT_EQ(report.slices, 2U);
  EXPECT_EQ(report.first_batch, 1U);
  EXPECT_EQ(report.last_batch, 20U);
  EXPECT_EQ(report.rows_of(RowKind::kHold), 29U);
  EXPECT_EQ(report.rows_of(RowKind::kMeta), 1U);
  EXPECT_EQ(report.token_ceiling, 4'711U);
}

TEST_F(StorageCheckData, ItChangesNothing) {
  {
    OpenedData data = Open(path());
    Fill(data, 20);
  }
  const auto files = [&] {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(path())) {
      if (!entry.is_regular_file() || entry.path().filename() == "fairlock.lock") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      contents[entry.path()] = {std::istreambuf_iterator<char>(file),
                                std::istreambuf_iterator<char>()};
    }
    return contents;
  };
  const auto before = files();
  Check(path());
  EXPECT_EQ(files(), before);
}

TEST_F(StorageCheckData, DataInUseAndFoldersWithoutDataAreRefused) {
  const OpenedData data = Open(path());
  EXPECT_THAT(CheckData(path()).status().message(), HasSubstr("is in use"));
  EXPECT_THAT(CheckData(folder_.PathOf("none")).status().message(),
              HasSubstr("not a fairlock data folder"));
  EXPECT_FALSE(fs::exists(folder_.PathOf("none")));
}

TEST_F(StorageCheckData, EveryDamagedRecordIsNamedAndTheOthersAreRead) {
  {
    OpenedData data = Open(path());
    Fill(data, 20);
    // Bypasses the journal to write a batch with wrong bytes, and one that leaves a gap.
    RecordWriter record;
    PutRow(record, PlainHold("k", 500));
    std::string bytes(record.Seal(RecordKind::kBatch, 12, 4'711));
    const StoredRecord wrong{.number = 12, .bytes = bytes};
    ASSERT_TRUE(data.store->Append({&wrong, 1}, Durability::kProcess).ok());
    const StoredRecord far{.number = 30, .bytes = bytes};
    ASSERT_TRUE(data.store->Append({&far, 1}, Durability::kProcess).ok());
  }
  const DataReport report = Check(path());
  EXPECT_THAT(report.damages, ElementsAre(HasSubstr("batch 12 does not match"),
                                          HasSubstr("batch 13 does not match"),
                                          HasSubstr("batch 21 to batch 29 are missing"),
                                          HasSubstr("batch 30 does not match")));
  EXPECT_EQ(report.rows_of(RowKind::kHold), 27U);
}

TEST_F(StorageCheckData, ADamagedLogIsNamedWithFileAndPlace) {
  {
    OpenedData data = Open(path());
    Fill(data, 20);
  }
  for (const auto& entry : fs::directory_iterator(path() + "/db")) {
    if (entry.path().extension() != ".log" || entry.file_size() < 1'000) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(900);
    file << '\xff';
  }
  const DataReport report = Check(path());
  EXPECT_FALSE(report.is_whole());
  ASSERT_FALSE(report.damages.empty());
  EXPECT_THAT(report.damages.front(), HasSubstr(".log: the record at byte"));
}

TEST_F(StorageCheckData, ABackupOfDataInUseIsWholeAndIsKnownForACopy) {
  OpenedData data = Open(path());
  Fill(data, 20);
  const std::string backup = folder_.PathOf("backup");
  const Status made = BackUp(data, backup);
  ASSERT_TRUE(made.ok()) << made.message();
  EXPECT_FALSE(fs::exists(backup + ".partial"));
  EXPECT_EQ(BackUp(data, backup).code(), StatusCode::kRefused);
  // The original is written to again, but the backup stays as it was.
  EXPECT_TRUE(Check(backup).is_whole());
  const std::string restored = folder_.PathOf("restored");
  fs::copy(backup, restored, fs::copy_options::recursive);
  for (const std::string& copy : {backup, restored}) {
    OpenedData opened = Open(copy);
    EXPECT_TRUE(opened.directory.is_copy());
    EXPECT_EQ(opened.end.next_batch, 21U);
    EXPECT_EQ(rows_, 30U);
  }
}

TEST_F(StorageCheckData, ABackupWithinTheDataFolderIsRefused) {
  const OpenedData data = Open(path());
  const std::string link = folder_.PathOf("link");
  fs::create_directory_symlink(path(), link);
  for (const std::string& inside :
       {path() + "/backup", path() + "/db/new/backup", link + "/backup",
        path() + "/../" + fs::path(path()).filename().string() + "/backup", path() + "/backup/"}) {
    const Status made = BackUp(data, inside);
    EXPECT_EQ(made.code(), StatusCode::kRefused) << inside;
    EXPECT_THAT(made.message(), HasSubstr("is inside the data folder")) << inside;
  }
  EXPECT_FALSE(fs::exists(path() + "/backup.partial"));
  // A folder whose name merely starts the same way is outside the data folder.
  EXPECT_TRUE(BackUp(data, path() + "-backup").ok());
}

TEST_F(StorageCheckData, ABackupMakesNoParentsOfItsFolder) {
  const OpenedData data = Open(path());
  const Status made = BackUp(data, folder_.PathOf("missing/parent/backup"));
  EXPECT_EQ(made.code(), StatusCode::kRefused);
  EXPECT_EQ(made.message(), "the folder " + folder_.PathOf("missing/parent") +
                                " does not exist; create it before the backup");
  EXPECT_FALSE(fs::exists(folder_.PathOf("missing")));
  // A trailing slash is not part of the name.
  EXPECT_TRUE(BackUp(data, folder_.PathOf("backup/")).ok());
  EXPECT_TRUE(fs::exists(folder_.PathOf("backup/fairlock.id")));
}

TEST_F(StorageCheckData, BackupsOfAChangingLogHaveTheStateOfOneBatch) {
  OpenedData data = Open(path());
  Journal journal(*data.store, data.end, {}, [] {});
  for (int round = 0; round < 5; ++round) {
    RecordWriter record;
    for (int i = 0; i < 2'000; ++i) {
      PutRow(record, PlainHold("k", journal.open_batch()));
      ASSERT_NE(journal.Append(record).batch, 0U);
    }
    const std::string backup = folder_.PathOf("backup" + std::to_string(round));
    const std::uint64_t complete = journal.Look().completed_batch;
    ASSERT_TRUE(BackUp(data, backup).ok());
    const OpenedData opened = Open(backup);
    EXPECT_GT(opened.end.next_batch, complete);
    EXPECT_EQ(rows_, opened.end.next_batch - 1);
  }
}

}  // namespace
}  // namespace fairlock::storage
