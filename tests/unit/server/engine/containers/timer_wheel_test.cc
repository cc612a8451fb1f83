#include "server/engine/containers/timer_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "server/engine/state/claim.h"

namespace fairlock::engine {
namespace {

class Node : public TimerNode {
 public:
  explicit Node(int its_rank, bool is_ordered = true)
      : TimerNode(TimerKind::kWatcher, is_ordered), rank(its_rank) {}
  int rank;
};

std::uint64_t RankOf(const TimerNode& node) {
  return static_cast<std::uint64_t>(static_cast<const Node&>(node).rank);
}

constexpr std::size_t kAll = 1U << 30;

std::vector<int> Due(TimerWheel& wheel, TimeMs now, std::size_t steps_max = kAll) {
  std::vector<int> ranks;
  wheel.Advance(
      now, steps_max, [&](TimerNode& node) { ranks.push_back(static_cast<Node&>(node).rank); },
      RankOf);
  return ranks;
}

TEST(TimerWheel, ReportsNothingBeforeItsTime) {
  TimerWheel wheel;
  Node node(1);
  wheel.Schedule(node, 1000, TimerClass::kLease);
  EXPECT_EQ(Due(wheel, 999), std::vector<int>{});
  EXPECT_EQ(Due(wheel, 1000), std::vector<int>{1});
  EXPECT_EQ(wheel.size(), 0U);
}

TEST(TimerWheel, OrdersATickByClassThenRank) {
  TimerWheel wheel;
  Node wait_late(9), wait_early(3), lease_late(8), lease_early(2), plain(100, false);
  wheel.Schedule(wait_late, 70, TimerClass::kWait);
  wheel.Schedule(wait_early, 70, TimerClass::kWait);
  wheel.Schedule(lease_late, 70, TimerClass::kLease);
  wheel.Schedule(lease_early, 70, TimerClass::kLease);
  wheel.Schedule(plain, 70, TimerClass::kLease);
  EXPECT_EQ(Due(wheel, 70), (std::vector<int>{100, 2, 8, 3, 9}));
}

TEST(TimerWheel, ForgetsWhatIsCancelledAndMovesWhatIsRescheduled) {
  TimerWheel wheel;
  Node cancelled(1), moved(2);
  wheel.Schedule(cancelled, 10, TimerClass::kLease);
  wheel.Schedule(moved, 10, TimerClass::kLease);
  wheel.Cancel(cancelled);
  wheel.Schedule(moved, 5000, TimerClass::kLease);
  EXPECT_EQ(Due(wheel, 4999), std::vector<int>{});
  EXPECT_EQ(Due(wheel, 5000), std::vector<int>{2});
}

TEST(TimerWheel, KeepsOrderWhenTheBudgetEndsInTheMiddleOfATick) {
  TimerWheel wheel;
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < 50; ++i) {
    nodes.push_back(std::make_unique<Node>(50 - i));
    wheel.Schedule(*nodes.back(), 4096, i % 2 == 0 ? TimerClass::kWait : TimerClass::kLease);
  }
  std::vector<int> whole;
  for (int calls = 0; wheel.size() > 0 && calls < 1000; ++calls) {
    EXPECT_TRUE(wheel.is_behind(5000));
    for (const int rank : Due(wheel, 5000, 3)) whole.push_back(rank);
  }
  ASSERT_EQ(whole.size(), 50U);
  EXPECT_TRUE(std::is_sorted(whole.begin(), whole.begin() + 25));
  EXPECT_TRUE(std::is_sorted(whole.begin() + 25, whole.end()));
  EXPECT_EQ(whole[0] % 2, 1);  // the leases have odd ranks
  EXPECT_FALSE(wheel.is_behind(5000));
}

// Compares the wheel with a sorted map while timers are scheduled and cancelled at random and time
// advances, with large and small budgets.
void CompareWithMap(std::uint64_t seed, std::size_t steps_max) {
  std::mt19937_64 random(seed);
  TimeMs now = static_cast<TimeMs>(random() % 100'000'000);
  TimerWheel wheel(now);
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < 200; ++i) nodes.push_back(std::make_unique<Node>(i));
  std::map<int, TimeMs> deadlines;
  for (int step = 0; step < 2000; ++step) {
    Node& node = *nodes[random() % nodes.size()];
    const TimeMs reach = TimeMs{1} << (random() % 36);
    if (random() % 4 == 0) {
      wheel.Cancel(node);
      deadlines.erase(node.rank);
    } else {
      const TimeMs deadline = now + 1 + static_cast<TimeMs>(random()) % reach / 2 + reach / 2;
      wheel.Schedule(node, deadline, TimerClass::kLease);
      deadlines[node.rank] = deadline;
    }
    if (random() % 3 != 0) continue;
    TimeMs first = kNever;
    for (const auto& [rank, deadline] : deadlines) first = std::min(first, deadline);
    ASSERT_LE(wheel.NextTick(), std::max(first, now + 1)) << "seed " << seed << " step " << step;
    now = random() % 2 == 0 && first < kNever ? first : now + static_cast<TimeMs>(random() % 5000);
    const bool is_behind = wheel.Advance(
        now, steps_max,
        [&](TimerNode& due) {
          const auto found = deadlines.find(static_cast<Node&>(due).rank);
          ASSERT_NE(found, deadlines.end());
          ASSERT_LE(found->second, now);
          deadlines.erase(found);
        },
        RankOf);
    if (is_behind) continue;
    for (const auto& [rank, deadline] : deadlines) ASSERT_GT(deadline, now);
    ASSERT_EQ(wheel.size(), deadlines.size());
  }
  for (auto& node : nodes) wheel.Cancel(*node);
}

TEST(TimerWheel, AgreesWithASortedMap) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) CompareWithMap(seed, kAll);
}

TEST(TimerWheel, AgreesWithASortedMapOnASmallBudget) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) CompareWithMap(seed, 1 + seed % 7);
}

}  // namespace
}  // namespace fairlock::engine
