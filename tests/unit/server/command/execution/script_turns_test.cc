#include "server/command/execution/script_turns.h"

#include <gtest/gtest.h>

#include "server/command/server_parts.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

class TwoClocks final : public Clock {
 public:
  std::int64_t UnixTimeUs() const override { return 0; }
  std::uint64_t MonotonicNs() const override { return monotonic_ns; }
  std::uint64_t ProcessorNs() const override { return processor_ns; }

  std::uint64_t monotonic_ns = 1'000'000'000;
  std::uint64_t processor_ns = 5'000;
};

class ScriptTurnsTest : public testing::Test {
 protected:
  ScriptTurnsTest() {
    turns_.BeginTurn();
    turns_.Open();
  }
  void Run(std::uint64_t ns, std::uint64_t processor_ns) {
    turns_.Measure([&] {
      clock_.monotonic_ns += ns;
      clock_.processor_ns += processor_ns;
    });
  }

  TestServer server_;
  TwoClocks clock_;
  ScriptTurns turns_{clock_, server_.parts().table};
};

// A machine that does other things between the steps of a short script must not make it an
// expensive one: it would wait behind those who have used the processor.
TEST_F(ScriptTurnsTest, TellsProcessorTimeBesideTime) {
  Run(100'000'000, 20'000);
  EXPECT_EQ(turns_.run_ns(), 100'000'000U);
  EXPECT_EQ(turns_.TakeProcessorNs(), 20'000U);
  Run(30'000, 30'000);
  Run(50'000, 40'000);
  EXPECT_EQ(turns_.TakeProcessorNs(), 70'000U);
}

TEST_F(ScriptTurnsTest, BoundsATurnByTime) {
  Run(ScriptTurns::kTurnNs - 1, 0);
  EXPECT_FALSE(turns_.MustWait());
  Run(1, 0);
  EXPECT_TRUE(turns_.MustWait());
}

TEST_F(ScriptTurnsTest, TheProcessorTimeOfATurnBeginsWithIt) {
  clock_.processor_ns += 7'000'000;  // other requests
  turns_.BeginTurn();
  turns_.Open();
  Run(10'000, 10'000);
  EXPECT_EQ(turns_.TakeProcessorNs(), 10'000U);
}

}  // namespace
}  // namespace fairlock::command
