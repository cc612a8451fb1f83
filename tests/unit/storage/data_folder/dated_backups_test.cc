#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/data_folder/backup.h"
#include "storage/data_folder/data_directory.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class StorageDatedBackups : public testing::Test {
 protected:
  static LogId IdOf(char byte) {
    LogId id{};
    id.fill(byte);
    return id;
  }

  std::string Make(const std::string& name, const LogId& id = IdOf('a')) {
    const std::string path = folder_.PathOf(name);
    fs::create_directory(path);
    EXPECT_TRUE(WriteIdOfBackup(path, id).ok());
    return path;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.PathOf(""))) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  Status Remove(std::size_t count, const std::string& newest) {
    return RemoveOldBackups(fs::path(newest).parent_path().string(), IdOf('a'), count, newest);
  }

  ScratchFolder folder_;
};

TEST_F(StorageDatedBackups, NamesRiseWithTheTime) {
  EXPECT_EQ(NameOfBackupAt(0), "fairlock-19700101T000000Z");
  EXPECT_EQ(NameOfBackupAt(1'795'555'501), "fairlock-20261124T212501Z");
}

TEST_F(StorageDatedBackups, TheNewestAreKept) {
  for (const int second : {1, 2, 3, 4}) Make(NameOfBackupAt(second));
  const std::string newest = Make(NameOfBackupAt(5));
  ASSERT_TRUE(Remove(3, newest).ok());
  EXPECT_THAT(Names(),
              UnorderedElementsAre(NameOfBackupAt(3), NameOfBackupAt(4), NameOfBackupAt(5)));
  ASSERT_TRUE(Remove(1, newest).ok());
  EXPECT_THAT(Names(), ElementsAre(NameOfBackupAt(5)));
  ASSERT_TRUE(Remove(7, newest).ok());
  EXPECT_THAT(Names(), ElementsAre(NameOfBackupAt(5)));
}

TEST_F(StorageDatedBackups, TheOneJustMadeIsKeptAlsoIfTheClockWasSetBack) {
  for (const int second : {11, 12, 13}) Make(NameOfBackupAt(second));
  const std::string newest = Make(NameOfBackupAt(5));
  ASSERT_TRUE(Remove(2, newest).ok());
  EXPECT_THAT(Names(), UnorderedElementsAre(NameOfBackupAt(5), NameOfBackupAt(13)));
}

TEST_F(StorageDatedBackups, WhatIsNoBackupOfThisServerStays) {
  const std::string newest = Make(NameOfBackupAt(9));
  Make(NameOfBackupAt(1), IdOf('b'));
  Make("before-the-upgrade");
  Make(NameOfBackupAt(2) + "-mine");
  fs::create_directory(folder_.PathOf(NameOfBackupAt(3)));  // a folder without an id
  fs::create_directory_symlink(newest, folder_.PathOf(NameOfBackupAt(4)));
  const std::vector<std::string> before = Names();
  ASSERT_TRUE(Remove(1, newest).ok());
  EXPECT_THAT(Names(), testing::UnorderedElementsAreArray(before));
}

TEST_F(StorageDatedBackups, WhatWasInterruptedLongAgoIsRemoved) {
  const std::string newest = Make(NameOfBackupAt(9));
  const std::string old = Make(NameOfBackupAt(1) + ".partial");
  Make(NameOfBackupAt(2) + ".partial");  // another server may be making this one
  Make("mine.partial");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(25));
  ASSERT_TRUE(Remove(1, newest).ok());
  EXPECT_THAT(Names(), UnorderedElementsAre(NameOfBackupAt(9), NameOfBackupAt(2) + ".partial",
                                            "mine.partial"));
}

}  // namespace
}  // namespace fairlock::storage
