#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <string>

#include "storage/data_folder/open_data.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class StorageFolderWatch : public testing::Test {
 protected:
  std::string path() const { return folder_.PathOf("data"); }

  // Runs `harm` while the files are open, and returns what the watch detects afterwards.
  Status After(const std::function<void()>& harm) {
    RowTable table;
    const auto data = OpenData({.directory = {.path = path()}}, table);
    EXPECT_TRUE(data.ok()) << data.status().message();
    const auto watch = FolderWatch::Begin(path());
    EXPECT_TRUE(watch.ok()) << watch.status().message();
    EXPECT_TRUE(watch->Look().ok());
    EXPECT_TRUE(data->store->LookForFiles().ok());
    harm();
    Status status = watch->Look();
    return status.ok() ? data->store->LookForFiles() : status;
  }

  ScratchFolder folder_;
};

TEST_F(StorageFolderWatch, AFolderThatWasRemovedIsMissed) {
  const Status status = After([&] { fs::remove_all(path()); });
  EXPECT_EQ(status.code(), StatusCode::kFailed);
  EXPECT_EQ(status.message(), path() + " was removed or renamed while the server was running");
}

TEST_F(StorageFolderWatch, AnotherFolderInItsPlaceIsNotTakenForIt) {
  const Status status = After([&] {
    fs::rename(path(), path() + "2");
    fs::copy(path() + "2", path(), fs::copy_options::recursive);
  });
  EXPECT_THAT(status.message(), HasSubstr(path() + " is not the one that the server opened"));
}

TEST_F(StorageFolderWatch, EachFileThatTheNextStartNeedsIsMissed) {
  for (const std::string name : {"fairlock.id", "fairlock.lock", "db", "db/CURRENT"}) {
    const Status status = After([&] { fs::remove_all(path() + "/" + name); });
    EXPECT_THAT(status.message(), HasSubstr(path() + "/" + name + " was removed")) << name;
    fs::remove_all(path());
    fs::remove(path() + ".initialised");
  }
}

TEST_F(StorageFolderWatch, TheLogThatIsWrittenIsMissed) {
  const Status status = After([&] {
    for (const auto& entry : fs::directory_iterator(path() + "/db")) {
      if (entry.path().extension() == ".log") fs::remove(entry.path());
    }
  });
  EXPECT_THAT(status.message(), HasSubstr(".log was removed while the server was running"));
}

TEST_F(StorageFolderWatch, OtherFilesMayComeAndGo) {
  EXPECT_TRUE(After([&] {
                WriteFile(path() + "/db/note", "x");
                fs::rename(path() + "/db/note", path() + "/note");
                fs::remove(path() + ".initialised");
              }).ok());
}

TEST_F(StorageFolderWatch, WithoutItsFilesItDoesNotBegin) {
  fs::create_directory(path());
  EXPECT_EQ(FolderWatch::Begin(path()).status().code(), StatusCode::kFailed);
}

}  // namespace
}  // namespace fairlock::storage
