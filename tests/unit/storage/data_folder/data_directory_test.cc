#include "storage/data_folder/data_directory.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class StorageDataDirectory : public testing::Test {
 protected:
  std::string path() const { return folder_.PathOf("data"); }
  std::string mark() const { return path() + ".initialised"; }

  static Status StatusOf(const std::string& path, bool initialise = false) {
    return DataDirectory::Open({.path = path, .initialise = initialise}).status();
  }

  // Creates a data folder, as the first start of a server does.
  LogId Make(const std::string& path) {
    auto directory = DataDirectory::Open({.path = path});
    EXPECT_TRUE(directory.ok()) << directory.status().message();
    EXPECT_TRUE(directory->is_new());
    fs::create_directory(directory->database_path());
    EXPECT_TRUE(directory->Settle().ok());
    return directory->log_id();
  }

  ScratchFolder folder_;
};

TEST_F(StorageDataDirectory, IsTheSameAtTheSecondStart) {
  const LogId id = Make(path());
  const auto again = DataDirectory::Open({.path = path() + "/"});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->log_id(), id);
  EXPECT_FALSE(again->is_new());
  EXPECT_FALSE(again->is_copy());
  EXPECT_THAT(again->warnings(), IsEmpty());
}

TEST_F(StorageDataDirectory, AFirstStartThatDidNotEndCountsAsNone) {
  LogId id;
  {
    const auto directory = DataDirectory::Open({.path = path()});
    id = directory->log_id();
    fs::create_directory(directory->database_path());
    std::ofstream(directory->database_path() + "/half") << "half";
  }
  const auto again = DataDirectory::Open({.path = path()});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again->is_new());
  EXPECT_EQ(again->log_id(), id);
  EXPECT_FALSE(fs::exists(again->database_path()));
}

TEST_F(StorageDataDirectory, AnEmptyFolderWhereDataWasIsRefusedWithoutInit) {
  Make(path());
  fs::remove_all(path());
  fs::create_directory(path());
  const Status refused = StatusOf(path());
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_THAT(refused.message(), HasSubstr("is its file system mounted?"));
  EXPECT_THAT(refused.message(), HasSubstr(mark()));
  fs::remove_all(path());  // a missing folder is refused, too
  EXPECT_EQ(StatusOf(path()).code(), StatusCode::kRefused);
  EXPECT_TRUE(StatusOf(path(), true).ok());
}

// A server opens its sockets and starts its log before it reads the data.
TEST_F(StorageDataDirectory, AFolderThatHasOnlyTheServersOwnFilesIsNew) {
  fs::create_directory(path());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string socket_path = path() + "/socket";
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  socket_path.copy(address.sun_path, socket_path.size());
  ASSERT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(descriptor);
  const std::string log = path() + "/server.log";
  std::ofstream(log) << "starts";
  const Status refused = StatusOf(path());
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_EQ(refused.message(), path() +
                                   " is not a fairlock data folder: it contains files such as "
                                   "server.log, but not fairlock.id");
  EXPECT_TRUE(DataDirectory::Open({.path = path(), .own_files = {"elsewhere", log}}).ok());
}

TEST_F(StorageDataDirectory, ABackupIsKnownByItsIdAndState) {
  const LogId id = Make(path());
  EXPECT_FALSE(IsBackupOf(path(), id));
  const std::string backup = folder_.PathOf("backup");
  fs::create_directory(backup);
  EXPECT_FALSE(IsBackupOf(backup, id));
  ASSERT_TRUE(WriteIdOfBackup(backup, id).ok());
  EXPECT_TRUE(IsBackupOf(backup, id));
  EXPECT_FALSE(IsBackupOf(backup, LogId{}));
}

TEST_F(StorageDataDirectory, InitIsRefusedWhereDataIs) {
  Make(path());
  EXPECT_THAT(StatusOf(path(), true).message(),
              HasSubstr("--init is only allowed for an empty folder"));
  EXPECT_TRUE(StatusOf(path()).ok());
}

TEST_F(StorageDataDirectory, AFolderWithForeignFilesIsRefused) {
  fs::create_directory(path());
  std::ofstream(path() + "/notes") << "mine";
  EXPECT_THAT(StatusOf(path()).message(), HasSubstr("not a fairlock data folder"));
  EXPECT_FALSE(StatusOf(path(), true).ok());
}

TEST_F(StorageDataDirectory, AnotherVolumeInItsPlaceIsRefused) {
  Make(path());
  Make(folder_.PathOf("other"));
  fs::rename(path(), folder_.PathOf("first"));
  fs::rename(folder_.PathOf("other"), path());
  const Status refused = StatusOf(path());
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_THAT(refused.message(), HasSubstr("is the right file system mounted?"));
  fs::remove(mark());
  EXPECT_TRUE(StatusOf(path()).ok());
}

TEST_F(StorageDataDirectory, ACopyIsNoticedUntilItIsSettled) {
  Make(path());
  const std::string copy = folder_.PathOf("copy");
  fs::copy(path(), copy, fs::copy_options::recursive);
  for (int start = 0; start < 2; ++start) {
    auto directory = DataDirectory::Open({.path = copy});
    ASSERT_TRUE(directory.ok()) << directory.status().message();
    EXPECT_TRUE(directory->is_copy());
    EXPECT_THAT(directory->warnings(), testing::ElementsAre(HasSubstr("is a copy")));
    if (start == 1) {
      EXPECT_TRUE(directory->Settle().ok());
    }
  }
  EXPECT_FALSE(DataDirectory::Open({.path = copy})->is_copy());
  EXPECT_FALSE(DataDirectory::Open({.path = path()})->is_copy());
}

TEST_F(StorageDataDirectory, AMovedFolderIsNoCopyAndIsMarkedInItsNewPlace) {
  Make(path());
  const std::string moved = folder_.PathOf("moved");
  fs::rename(path(), moved);
  EXPECT_FALSE(DataDirectory::Open({.path = moved})->is_copy());
  EXPECT_TRUE(fs::exists(moved + ".initialised"));
}

TEST_F(StorageDataDirectory, OnlyOneProcessHasIt) {
  const auto first = DataDirectory::Open({.path = path()});
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(StatusOf(path()).message(), HasSubstr("is in use by another process, "));
}

TEST_F(StorageDataDirectory, EveryFlippedBitOfItsIdIsRefused) {
  Make(path());
  const std::string id_path = path() + "/fairlock.id";
  std::string text;
  std::getline(std::ifstream(id_path), text, '\0');
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    // Writes in place, so that it remains the same file.
    std::fstream(id_path, std::ios::in | std::ios::out | std::ios::binary) << flipped;
    ASSERT_EQ(StatusOf(path()).code(), StatusCode::kDamaged) << "bit " << bit;
  }
  std::fstream(id_path, std::ios::in | std::ios::out | std::ios::binary) << text;
  EXPECT_TRUE(StatusOf(path()).ok());
}

}  // namespace
}  // namespace fairlock::storage
