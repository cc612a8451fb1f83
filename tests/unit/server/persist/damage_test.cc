// Takes a data folder as a server leaves it, and truncates or damages it in every way. The intact
// part must be read back, or the folder must be refused.
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "server/persist/opened_locks.h"
#include "server/persist/state_log.h"
#include "storage/data_folder/salvage_data.h"

namespace fairlock::persist {
namespace {

namespace fs = std::filesystem;

constexpr int kLocks = 60;

// The distance between the positions that are tried; with 1, the tests try every position.
std::size_t Stride(std::size_t usual) {
  const char* given = std::getenv("FAIRLOCK_DAMAGE_STRIDE");
  return given == nullptr ? usual : static_cast<std::size_t>(std::atoi(given));
}

class DamageTest : public testing::Test {
 protected:
  // Each lock is written in its own batch, so that the number of locks that come back shows where
  // the log was cut.
  void SetUp() override {
    std::string made = (fs::temp_directory_path() / "fairlock-damage-XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
    Keep(kLocks);
    log_ = FindLog();
    std::ifstream file(log_, std::ios::binary);
    content_.assign(std::istreambuf_iterator<char>(file), {});
    ASSERT_GT(content_.size(), 4096U);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string data() const { return (folder_ / "data").string(); }

  void Keep(int locks) {
    auto opened = OpenLocks({.path = data(), .initialise = false, .log = {}});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    engine::LockEngine engine(engine::EngineOptions{});
    engine::Effects effects;
    engine::Attachment client(engine.clients().Connect("test", "default"));
    std::mutex mutex;
    std::condition_variable woken;
    int wakes = 0;
    StateLogOptions options;
    options.wake = [&] {
      const std::lock_guard lock(mutex);
      ++wakes;
      woken.notify_one();
    };
    options.unix_ms = [] { return std::int64_t{1'790'000'000'000}; };
    StateLog log(engine, *opened->home, *opened->rows, options, {1000, effects});
    while (!log.is_ready()) {
      std::unique_lock lock(mutex);
      woken.wait(lock, [&] { return wakes > 0; });
      wakes = 0;
      log.BeginTurn(1000);
    }
    for (int i = 0; i < locks; ++i) {
      const std::string key = "key " + std::to_string(i);
      engine::LockRequest request;
      request.key = {0, key};
      request.owner = "an owner of some length, so that the log has some thousand bytes in all";
      request.lease_ms = 100'000;
      engine.Lock(request, client, {1000, effects});
      log.EndTurn(1000);
      log.AwaitJournal();
    }
    ASSERT_FALSE(log.state().has_failed) << log.failure().message();
    engine.sessions().Detach(client, {1000, effects});
    CopyAsKilled();
  }

  // Copies the folder as a killed process would leave it, with nothing closed.
  void CopyAsKilled() { fs::copy(data(), folder_ / "killed", fs::copy_options::recursive); }

  fs::path FindLog() const {
    fs::path newest;
    for (const auto& entry : fs::directory_iterator(folder_ / "killed" / "db")) {
      if (entry.path().extension() == ".log" && entry.path() > newest) newest = entry.path();
    }
    return newest;
  }

  // A copy of the killed server's folder in which the log has this content.
  std::string CopyWith(const std::string& content) {
    const fs::path copy = folder_ / "copy";
    fs::remove_all(copy);
    fs::copy(folder_ / "killed", copy, fs::copy_options::recursive);
    std::ofstream file(copy / "db" / log_.filename(), std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    return copy.string();
  }
  static storage::Result<OpenedLocks> Open(const std::string& path) {
    return OpenLocks({.path = path, .initialise = false, .log = {}});
  }
  storage::Result<OpenedLocks> OpenWith(const std::string& content) {
    return Open(CopyWith(content));
  }

  fs::path folder_;
  fs::path log_;
  std::string content_;
};

// Returns the number of holds: all rows except the two that describe the run.
std::size_t LocksIn(const OpenedLocks& opened) { return opened.rows->size() - 2; }

TEST_F(DamageTest, ALogThatWasCutOffStartsWithTheWholeBatchesBeforeTheCut) {
  const std::size_t stride = Stride(173);
  std::size_t locks = kLocks;
  std::size_t bytes_of_last = 0;
  for (std::size_t cut = 0; cut < 4096;
       cut += cut < 600 ? std::min<std::size_t>(stride, 19) : stride) {
    auto opened = OpenWith(content_.substr(0, content_.size() - cut));
    ASSERT_TRUE(opened.ok()) << "cut by " << cut << ": " << opened.status().message();
    // Each batch that is no longer complete takes its lock away, and no lock is missing in between.
    ASSERT_LE(LocksIn(opened.value()), locks) << "cut by " << cut;
    ASSERT_GE(LocksIn(opened.value()) + 1 + stride / 60, locks) << "cut by " << cut;
    if (LocksIn(opened.value()) < locks) bytes_of_last = cut;
    locks = LocksIn(opened.value());
  }
  EXPECT_LT(locks, std::size_t{kLocks});
  EXPECT_GT(bytes_of_last, 0U);
}

TEST_F(DamageTest, AFlippedBitBeforeTheLastBatchIsRefusedAndSaysWhere) {
  // The last batch lies within the last 400 bytes.
  const std::size_t end = content_.size() - 400;
  const std::size_t stride = Stride(101);
  for (std::size_t at = 0; at < end; at += stride) {
    std::string damaged = content_;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    auto opened = OpenWith(damaged);
    ASSERT_FALSE(opened.ok()) << "bit " << at % 8 << " of byte " << at;
    ASSERT_FALSE(opened.status().message().empty());
  }
}

// Each lock of the log is kept, named as missing, or in a batch that is said to be unreadable.
TEST_F(DamageTest, TheIntactBeginningIsSalvagedAndTheRestIsNamed) {
  const std::size_t end = content_.size() - 400;
  const std::size_t stride = Stride(397);
  int salvaged = 0;
  for (std::size_t at = 0; at < end; at += stride) {
    std::string damaged = content_;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    const std::string path = CopyWith(damaged);
    const auto report = storage::SalvageData({.path = path, .set_aside = "damaged"});
    auto opened = Open(path);
    ASSERT_EQ(opened.ok(), report.ok()) << "byte " << at << ": " << report.status().message();
    // Without the snapshot's heading, nothing can be kept.
    if (!report.ok()) continue;
    ++salvaged;
    // Beside those of the run, there is the row that delays grants, if anything was held.
    const std::size_t kept = LocksIn(opened.value());
    EXPECT_FALSE(report->damage.empty());
    EXPECT_LE(kept, std::size_t{kLocks} + 1);
    if (report->later == 0) continue;
    const std::uint64_t unknown = report->later_first - report->last_batch - 1;
    EXPECT_EQ(kept - 1 + unknown + report->lost.size(), std::size_t{kLocks}) << "byte " << at;
    EXPECT_EQ(opened->rows->last_run().grant_delay_ms, 100'000);
  }
  EXPECT_GT(salvaged, 10);
}

}  // namespace
}  // namespace fairlock::persist
