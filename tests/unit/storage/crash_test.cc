// A process that appends is killed, or its disk fails, at many points. What it reported as complete
// is there afterwards, and no assertion fails.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/rocksdb/prepared_log.h"
#include "tests/unit/storage/storage_test_support.h"

extern char** environ;

namespace fairlock::storage {
namespace {

struct Ending {
  // The newest batch found at the start, followed by each batch that was completed.
  std::vector<std::uint64_t> numbers;
  int status = 0;

  bool was_killed() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }
  bool has_aborted() const { return WIFSIGNALED(status) && !was_killed(); }
  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

// Runs storage_writer; kills it once it has reported `kill_after` numbers (0 means never).
Ending RunWriter(std::vector<std::string> arguments, std::size_t kill_after = 0) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  arguments.insert(arguments.begin(), FAIRLOCK_STORAGE_WRITER);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t writer = 0;
  EXPECT_EQ(posix_spawn(&writer, argv[0], &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);

  Ending ending;
  std::uint64_t number = 0;
  while (read(ends[0], &number, sizeof number) == sizeof number) {
    ending.numbers.push_back(number);
    if (ending.numbers.size() == kill_after) kill(writer, SIGKILL);
  }
  close(ends[0]);
  EXPECT_EQ(waitpid(writer, &ending.status, 0), writer);
  return ending;
}

class StorageCrash : public testing::TestWithParam<const char*> {};

TEST_P(StorageCrash, AKilledProcessLosesNothingThatWasComplete) {
  const ScratchFolder folder;
  std::uint64_t complete = 0;
  for (std::size_t round = 1; round <= 60; ++round) {
    const Ending ending =
        RunWriter({folder.PathOf("data"), GetParam(), "100000"}, 1 + round * 37 % 160);
    ASSERT_TRUE(ending.was_killed()) << "round " << round << ": exit code " << ending.code();
    ASSERT_FALSE(ending.numbers.empty());
    ASSERT_GE(ending.numbers.front(), complete) << "round " << round;
    complete = ending.numbers.back();
  }
  const Ending last = RunWriter({folder.PathOf("data"), GetParam(), "10"});
  EXPECT_EQ(last.code(), 0);
  EXPECT_GE(last.numbers.front(), complete);
}

// Each call that writes is in turn the first to fail: while the folder is created, in a batch, or
// in a snapshot. Half of the bytes of the failing write reach the file.
TEST_P(StorageCrash, AFullDiskIsAnErrorAtEveryCallAndLosesNothingThatWasComplete) {
  int code = -1;
  for (int call = 1; code != 0; ++call) {
    ASSERT_LT(call, 400);
    const ScratchFolder folder;
    const Ending ending =
        RunWriter({folder.PathOf("data"), GetParam(), "30", "failing-call", std::to_string(call)});
    ASSERT_FALSE(ending.has_aborted()) << "call " << call << ": signal " << WTERMSIG(ending.status);
    code = ending.code();
    ASSERT_TRUE(code == 0 || code == 3) << "call " << call << ": exit code " << code;
    const std::uint64_t complete = ending.numbers.empty() ? 0 : ending.numbers.back();
    const Ending again = RunWriter({folder.PathOf("data"), GetParam(), "1"});
    ASSERT_EQ(again.code(), 0) << "after call " << call;
    ASSERT_GE(again.numbers.front(), complete) << "after call " << call;
  }
}

// Here the error comes from the system itself: the log reaches a limit on the size of files.
TEST_P(StorageCrash, AFileThatCannotGrowIsAnErrorAndLosesNothingThatWasComplete) {
  // In mode sync the log's space is written in advance, so the file has this size from the start.
  const std::size_t least = GetParam() == std::string_view("sync") ? kPreparedBytes : 0;
  for (const std::size_t more : {3'000, 5'000, 9'001, 20'000, 40'000}) {
    const ScratchFolder folder;
    const std::string bytes = std::to_string(least + more);
    const Ending ending =
        RunWriter({folder.PathOf("data"), GetParam(), "5000", "file-bytes", bytes});
    ASSERT_EQ(ending.code(), 3) << bytes;
    ASSERT_GT(ending.numbers.size(), 1U) << bytes;
    const Ending again = RunWriter({folder.PathOf("data"), GetParam(), "1"});
    ASSERT_EQ(again.code(), 0) << bytes;
    ASSERT_GE(again.numbers.front(), ending.numbers.back()) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(, StorageCrash, testing::Values("async", "sync"),
                         [](const auto& mode) { return std::string(mode.param); });

}  // namespace
}  // namespace fairlock::storage
