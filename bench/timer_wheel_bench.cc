// The cost of keeping a deadline.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "server/engine/containers/timer_wheel.h"
#include "server/engine/state/claim.h"

namespace {

using fairlock::engine::DurationMs;
using fairlock::engine::TimeMs;
using fairlock::engine::TimerClass;
using fairlock::engine::TimerKind;
using fairlock::engine::TimerNode;
using fairlock::engine::TimerWheel;

constexpr TimeMs kStart = 1'000'000;

// Nodes at fixed addresses, with deadlines from 1 ms to `ms_max` after the start.
class Deadlines {
 public:
  Deadlines(std::size_t count, DurationMs ms_max) : wheel(kStart) {
    std::mt19937_64 random(count);
    for (std::size_t i = 0; i < count; ++i) {
      nodes.push_back(std::make_unique<TimerNode>(TimerKind::kHold, false));
      after_ms.push_back(1 +
                         static_cast<DurationMs>(random() % static_cast<std::uint64_t>(ms_max)));
    }
  }
  ~Deadlines() {
    for (const auto& node : nodes) wheel.Cancel(*node);
  }

  void ScheduleAll(TimeMs now) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      wheel.Schedule(*nodes[i], now + after_ms[i], TimerClass::kLease);
    }
  }
  std::size_t AdvanceTo(TimeMs now) {
    std::size_t reported = 0;
    wheel.Advance(
        now, ~std::size_t{0}, [&](TimerNode&) { ++reported; }, [](const TimerNode&) { return 0; });
    return reported;
  }

  TimerWheel wheel;
  std::vector<std::unique_ptr<TimerNode>> nodes;
  std::vector<DurationMs> after_ms;
};

// A lease that is granted and released, among as many others as the argument says.
void ScheduleAndCancel(benchmark::State& state) {
  Deadlines deadlines(static_cast<std::size_t>(state.range(0)), 60'000);
  deadlines.ScheduleAll(kStart);
  TimerNode node(TimerKind::kHold, false);
  for (auto _ : state) {
    deadlines.wheel.Schedule(node, kStart + 30'000, TimerClass::kLease);
    deadlines.wheel.Cancel(node);
  }
}
BENCHMARK(ScheduleAndCancel)->Arg(0)->Arg(100'000);

// A deadline that is postponed repeatedly, as by RENEW.
void Reschedule(benchmark::State& state) {
  Deadlines deadlines(static_cast<std::size_t>(state.range(0)), 60'000);
  deadlines.ScheduleAll(kStart);
  std::size_t at = 0;
  for (auto _ : state) {
    deadlines.wheel.Schedule(*deadlines.nodes[at], kStart + 30'000, TimerClass::kLease);
    if (++at == deadlines.nodes.size()) at = 0;
  }
}
BENCHMARK(Reschedule)->Arg(1)->Arg(100'000);

// The time of one deadline from scheduling to reporting, including all levels of the wheel.
// Argument: the maximum time ahead.
void ScheduleAndReport(benchmark::State& state) {
  constexpr std::size_t kNodes = 100'000;
  const DurationMs ms_max = state.range(0);
  Deadlines deadlines(kNodes, ms_max);
  TimeMs now = kStart;
  std::size_t reported = 0;
  for (auto _ : state) {
    deadlines.ScheduleAll(now);
    for (const TimeMs end = now + ms_max; now < end; ++now)
      reported += deadlines.AdvanceTo(now + 1);
  }
  if (reported != kNodes * static_cast<std::size_t>(state.iterations())) {
    state.SkipWithError("a deadline was not reported exactly once");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kNodes));
}
BENCHMARK(ScheduleAndReport)->Arg(50)->Arg(1000)->Arg(30'000)->Unit(benchmark::kMillisecond);

// The query that the loop makes before it sleeps.
void NextTick(benchmark::State& state) {
  Deadlines deadlines(static_cast<std::size_t>(state.range(0)), 60'000);
  deadlines.ScheduleAll(kStart);
  for (auto _ : state) benchmark::DoNotOptimize(deadlines.wheel.NextTick());
}
BENCHMARK(NextTick)->Arg(1)->Arg(100'000);

}  // namespace
