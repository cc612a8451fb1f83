#include "storage/rocksdb/log_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/rocksdb/rocksdb_store.h"
#include "tests/unit/storage/failing_files.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

TEST(StorageLogGate, AFailureIsHeldBackUntilTheSyncUnderWayHasEnded) {
  LogGate gate("/db");
  ASSERT_TRUE(gate.BeginSync());
  std::atomic<bool> is_known = false;
  std::thread writer([&] {
    gate.RememberFailedWrite();
    is_known = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_known);
  gate.EndSync();
  writer.join();
  EXPECT_TRUE(is_known);
}

TEST(StorageLogGate, NoSyncBeginsAfterAFailure) {
  LogGate gate("/db");
  ASSERT_TRUE(gate.BeginSync());
  gate.EndSync();
  gate.RememberFailedWrite();
  EXPECT_FALSE(gate.BeginSync());
}

// If a backup cannot be written, that is not a failure of the database, although RocksDB writes the
// backup's files, too.
TEST(StorageLogGate, OnlyFailedWritesToLogsOfTheDatabaseCloseIt) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.PathOf("backup"));
  for (const auto& [name, closes] : {std::pair("000001.log", true), std::pair("000002.sst", false),
                                     std::pair("backup/000001.log", false)}) {
    const std::string database = std::filesystem::path(folder.PathOf("x")).parent_path().string();
    const auto gate = std::make_shared<LogGate>(database);
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
    EXPECT_EQ(gate->newest_log(), closes ? folder.PathOf(name) : "") << name;
  }
}

// A sync waits inside RocksDB for a write that also syncs, and then that write fails.
TEST(StorageLogGate, ASyncAndAWriteThatSyncsDoNotWaitForEachOther) {
  // Leaked on purpose: if the threads hang, they outlive the test, and a failed database must not
  // be closed.
  struct State {
    std::shared_ptr<WriteCounter> counter = std::make_shared<WriteCounter>();
    std::unique_ptr<RocksDbStore> store;
    std::promise<void> is_writing;
    std::promise<bool> has_written;
    std::promise<bool> has_synced;
  };
  static std::vector<std::shared_ptr<State>>& forever = *new std::vector<std::shared_ptr<State>>;
  const auto state = forever.emplace_back(std::make_shared<State>());
  const ScratchFolder folder;
  auto opened = RocksDbStore::Open({.path = folder.PathOf("db"),
                                    .mode = RocksDbOptions::Mode::kNew,
                                    .file_system = std::make_shared<FailingFiles>(state->counter)});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  state->store = std::move(opened.value());
  const auto append = [](State& to, Durability durability) {
    const StoredRecord record{.kind = RecordKind::kBatch, .number = 1, .bytes = "a record"};
    return to.store->Append({&record, 1}, durability).ok();
  };
  ASSERT_TRUE(append(*state, Durability::kProcess));
  state->counter->first_failing = state->counter->calls + 1;
  // This must not be the error of a full disk, for which RocksDB would start a thread that looks
  // for space and that nobody would join.
  state->counter->failure = rocksdb::IOStatus::IOError("the disk is broken");
  state->counter->at_failure = [&state = *state, is_first = true]() mutable {
    if (!std::exchange(is_first, false)) return;
    state.is_writing.set_value();
    // Meanwhile, the other thread starts to wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  std::thread([state, append] {
    state->has_written.set_value(append(*state, Durability::kMachine));
  }).detach();
  std::thread([state] {
    state->is_writing.get_future().wait();
    state->has_synced.set_value(state->store->Sync().ok());
  }).detach();
  for (auto* outcome : {&state->has_written, &state->has_synced}) {
    auto future = outcome->get_future();
    ASSERT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_FALSE(future.get());
  }
}

}  // namespace
}  // namespace fairlock::storage
