// The cost of one command in the engine, without parsing and sockets.

#include <benchmark/benchmark.h>
#include <jemalloc/jemalloc.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/engine_workload.h"

namespace {

using fairlock::bench::EngineWorkload;

// Longer than any benchmark runs, in engine time.
constexpr fairlock::engine::DurationMs kLongLeaseMs = 24 * 3'600'000;

std::size_t SizeOf(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0));
}

// One LOCK and one UNLOCK of a free lock. Argument: number of keys used in turn.
void LockAndUnlock(benchmark::State& state) {
  EngineWorkload workload(SizeOf(state));
  std::size_t key = 0;
  for (auto _ : state) {
    workload.Lock(key);
    workload.Unlock(key);
    if (++key == workload.keys()) key = 0;
  }
}
BENCHMARK(LockAndUnlock)->Arg(1)->Arg(100'000);

// The same pair while all other keys are held: each step releases the oldest hold and acquires its
// key again.
void UnlockAndLockAmongHeld(benchmark::State& state) {
  EngineWorkload workload(SizeOf(state));
  for (std::size_t key = 0; key < workload.keys(); ++key) workload.Lock(key);
  std::size_t key = 0;
  for (auto _ : state) {
    workload.Unlock(key);
    workload.Lock(key);
    if (++key == workload.keys()) key = 0;
  }
}
BENCHMARK(UnlockAndLockAmongHeld)->Arg(1)->Arg(100'000)->Arg(1'000'000);

void Renew(benchmark::State& state) {
  EngineWorkload workload(SizeOf(state));
  for (std::size_t key = 0; key < workload.keys(); ++key) workload.Lock(key);
  std::size_t key = 0;
  for (auto _ : state) {
    workload.Renew(key);
    if (++key == workload.keys()) key = 0;
  }
}
BENCHMARK(Renew)->Arg(1)->Arg(100'000);

void LockDenied(benchmark::State& state) {
  EngineWorkload workload(SizeOf(state), kLongLeaseMs);
  workload.AddOwners(2);
  workload.LockAllAtOnce();
  std::size_t key = 0;
  for (auto _ : state) {
    workload.LockDenied(key);
    if (++key == workload.keys()) key = 0;
  }
}
BENCHMARK(LockDenied)->Arg(1)->Arg(100'000);

// A semaphore with one free slot, which is acquired and released. Argument: LIMIT.
void LockAndUnlockWithLimit(benchmark::State& state) {
  EngineWorkload workload(1, kLongLeaseMs);
  const std::size_t limit = SizeOf(state);
  workload.AddOwners(limit);
  for (std::size_t owner = 1; owner < limit; ++owner) {
    workload.LockWithLimit(0, owner, static_cast<std::uint32_t>(limit));
  }
  for (auto _ : state) {
    workload.LockWithLimit(0, 0, static_cast<std::uint32_t>(limit));
    workload.Unlock(0);
  }
}
BENCHMARK(LockAndUnlockWithLimit)->Arg(2)->Arg(100)->Arg(10'000);

// One key, held by owner 0, with a queue of other owners. Argument: number of waiters.
class Line : public benchmark::Fixture {
 public:
  void SetUp(benchmark::State& state) override {
    workload_ = std::make_unique<EngineWorkload>(1, kLongLeaseMs);
    owners_ = SizeOf(state) + 1;
    workload_->AddOwners(owners_);
    workload_->Lock(0);
    for (std::size_t owner = 1; owner < owners_; ++owner) workload_->Join(0, owner);
  }
  void TearDown(benchmark::State&) override { workload_.reset(); }

 protected:
  std::unique_ptr<EngineWorkload> workload_;
  std::size_t owners_ = 0;
};

// A waiter leaves from anywhere in the queue and joins again at its end.
BENCHMARK_DEFINE_F(Line, CancelAndJoin)(benchmark::State& state) {
  // Moves in large steps that visit every waiter once before visiting any of them twice.
  std::size_t place = 0;
  const std::size_t places = owners_ - 1;
  const std::size_t stride = places / 3 + 1;
  for (auto _ : state) {
    place = (place + stride) % places;
    workload_->Cancel(0, place + 1);
    workload_->Join(0, place + 1);
  }
}
BENCHMARK_REGISTER_F(Line, CancelAndJoin)->Arg(10)->Arg(1000)->Arg(1'000'000);

// The holder releases the lock, the next waiter is granted it, and the former holder joins the end
// of the queue.
BENCHMARK_DEFINE_F(Line, HandOverAndJoin)(benchmark::State& state) {
  std::size_t holder = 0;
  for (auto _ : state) {
    workload_->HandOver(0, holder);
    workload_->Join(0, holder);
    if (++holder == owners_) holder = 0;
  }
}
BENCHMARK_REGISTER_F(Line, HandOverAndJoin)->Arg(10)->Arg(1000)->Arg(1'000'000);

// The cost of expiring one lease when all leases end in the same millisecond and are expired in
// slices of 1,000.
void ExpireTogether(benchmark::State& state) {
  constexpr fairlock::engine::DurationMs kLeaseMs = 10'000;
  EngineWorkload workload(SizeOf(state), kLeaseMs);
  for (auto _ : state) {
    state.PauseTiming();
    workload.LockAllAtOnce();
    workload.PassTime(kLeaseMs);
    state.ResumeTiming();
    while (workload.Advance(1000)) {
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ExpireTogether)->Arg(1'000'000)->Iterations(3)->Unit(benchmark::kMillisecond);

std::size_t ReadAllocator(const char* name) {
  std::uint64_t epoch = 1;
  std::size_t epoch_bytes = sizeof(epoch);
  mallctl("epoch", &epoch, &epoch_bytes, &epoch, epoch_bytes);
  std::size_t value = 0;
  std::size_t value_bytes = sizeof(value);
  mallctl(name, &value, &value_bytes, nullptr, 0);
  return value;
}

// Memory per held lock (19-byte key, 32-byte owner), as reported by the allocator.
void HeldLock(benchmark::State& state) {
  for (auto _ : state) {
    EngineWorkload workload(SizeOf(state), 600'000);
    const std::size_t allocated_before = ReadAllocator("stats.allocated");
    const std::size_t resident_before = ReadAllocator("stats.resident");
    workload.LockAllAtOnce();
    const auto locks = static_cast<double>(workload.keys());
    const auto allocated = static_cast<double>(ReadAllocator("stats.allocated") - allocated_before);
    const auto resident = static_cast<double>(ReadAllocator("stats.resident") - resident_before);
    state.counters["allocated_bytes"] = allocated / locks;
    state.counters["resident_bytes"] = resident / locks;
  }
}
BENCHMARK(HeldLock)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

// Memory per waiter (32-byte owner) on a single key.
void Place(benchmark::State& state) {
  for (auto _ : state) {
    EngineWorkload workload(1);
    const std::size_t places = SizeOf(state);
    workload.AddOwners(places + 1);
    workload.Lock(0);
    const std::size_t allocated_before = ReadAllocator("stats.allocated");
    for (std::size_t owner = 1; owner <= places; ++owner) workload.Join(0, owner);
    const auto allocated = static_cast<double>(ReadAllocator("stats.allocated") - allocated_before);
    state.counters["allocated_bytes"] = allocated / static_cast<double>(places);
  }
}
BENCHMARK(Place)->Arg(15'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
