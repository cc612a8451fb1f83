// The cost of guarded transactions, sent one after the other, on an etcd cluster of three members.
//
//   build/release/bin/etcd_bench 127.0.0.1:2379,127.0.0.1:2381,127.0.0.1:2383
//
// bench/etcd_bench.sh starts the members and this program. `items_per_second` is transactions by
// the wall clock; `cpu_us` is the processor time of all threads of the client per transaction;
// `p50_us` and `p99_us` are percentiles of the time of a transaction.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/cpu_seconds.h"
#include "storage/etcd/etcd_client.h"
#include "storage/etcd/etcd_watch.h"

namespace {

using namespace fairlock::storage::etcd;  // NOLINT(google-build-using-namespace)

constexpr std::chrono::milliseconds kTimeout{5'000};

using fairlock::bench::CpuSeconds;

std::string FrameKey(std::int64_t number) { return "/bench/f/" + std::to_string(number % 1'000); }

// What a leader writes: the register and a frame of the log.
Txn NextWrite(std::int64_t revision, std::int64_t number, std::size_t bytes) {
  return {.compares = {{.key = "/bench/beat", .revision = revision}},
          .then = {Put{.key = "/bench/beat", .value = std::to_string(number)},
                   Put{.key = FrameKey(number), .value = std::string(bytes, 'x')}},
          .otherwise = {Get{.key = "/bench/beat"}}};
}

void Transactions(benchmark::State& state, const EtcdOptions& options) {
  auto client = EtcdClient::Open(options);
  if (!client.ok()) return state.SkipWithError(client.status().message().c_str());
  const RangeAnswer beat = client.value()->Range({.key = "/bench/beat"}, kTimeout);
  if (beat.outcome != Outcome::kDone) return state.SkipWithError(beat.message.c_str());
  std::int64_t revision = beat.found.empty() ? 0 : beat.found.front().mod_revision;
  std::int64_t number = 0;
  std::vector<double> times_us;
  const double cpu_before = CpuSeconds();
  for (auto _ : state) {
    const auto began = std::chrono::steady_clock::now();
    const Txn txn = NextWrite(revision, ++number, static_cast<std::size_t>(state.range(0)));
    const TxnAnswer answer = client.value()->Transact(txn, kTimeout);
    if (answer.outcome != Outcome::kDone) return state.SkipWithError(answer.message.c_str());
    revision = answer.revision;
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - began;
    times_us.push_back(time.count());
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["cpu_us"] =
      (CpuSeconds() - cpu_before) * 1e6 / static_cast<double>(state.iterations());
  std::sort(times_us.begin(), times_us.end());
  state.counters["p50_us"] = times_us[times_us.size() / 2];
  state.counters["p99_us"] = times_us[times_us.size() * 99 / 100];
}

// Runs the same transactions while a watch of the same process waits for other keys: gRPC polls all
// connections of a process together.
void TransactionsBesideAWatch(benchmark::State& state, const EtcdOptions& options) {
  const auto watch = EtcdWatch::Begin(options, {.key = "/bench/n"},
                                      {.began = [](std::int64_t) {},
                                       .events = [](const std::vector<WatchEvent>&) {},
                                       .lost = [](const std::string&) {},
                                       .compacted = [](std::int64_t) {}});
  if (!watch.ok()) return state.SkipWithError(watch.status().message().c_str());
  Transactions(state, options);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  auto endpoints = ParseEndpoints(argc == 2 ? argv[1] : "");
  if (!endpoints.ok()) {
    std::cerr << "etcd_bench: the endpoints " << endpoints.status().message() << "\n";
    return 2;
  }
  const EtcdOptions options{.endpoints = endpoints.value()};
  for (const int bytes : {128, 8 << 10, 64 << 10}) {
    benchmark::RegisterBenchmark("Transactions", Transactions, options)->Arg(bytes)->UseRealTime();
    benchmark::RegisterBenchmark("TransactionsBesideAWatch", TransactionsBesideAWatch, options)
        ->Arg(bytes)
        ->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
}
