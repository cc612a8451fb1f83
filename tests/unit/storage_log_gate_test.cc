#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "storage/log_gate.h"
#include "tests/unit/storage_failing_files.h"
#include "tests/unit/storage_test_support.h"

namespace fairlock::storage {
namespace {

TEST(StorageLogGate, AFailureIsHeldBackUntilTheSyncUnderWayHasEnded) {
  LogGate gate;
  ASSERT_TRUE(gate.BeginSync());
  std::atomic<bool> is_known = false;
  std::thread writer([&] {
    gate.NoteWriteFailed();
    is_known = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_known);
  gate.EndSync();
  writer.join();
  EXPECT_TRUE(is_known);
}

TEST(StorageLogGate, NoSyncBeginsAfterAFailure) {
  LogGate gate;
  ASSERT_TRUE(gate.BeginSync());
  gate.EndSync();
  gate.NoteWriteFailed();
  EXPECT_FALSE(gate.BeginSync());
}

TEST(StorageLogGate, OnlyFailedWritesToLogFilesCloseIt) {
  const ScratchFolder folder;
  for (const auto& [name, closes] :
       {std::pair("000001.log", true), std::pair("000002.sst", false)}) {
    const auto gate = std::make_shared<LogGate>();
    const auto counter = std::make_shared<WriteCounter>();
    GatedFileSystem files(std::make_shared<FailingFiles>(counter), gate);
    std::unique_ptr<rocksdb::FSWritableFile> file;
    ASSERT_TRUE(files.NewWritableFile(folder.PathOf(name), {}, &file, nullptr).ok());
    ASSERT_TRUE(file->Append("whole", {}, nullptr).ok());
    ASSERT_TRUE(gate->BeginSync());
    gate->EndSync();
    counter->first_failing = counter->calls + 1;
    EXPECT_FALSE(file->Append("cut off", {}, nullptr).ok());
    EXPECT_EQ(gate->BeginSync(), !closes) << name;
  }
}

}  // namespace
}  // namespace fairlock::storage
