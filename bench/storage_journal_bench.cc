// The cost of writing changes to disk: batches with one hold or its deletion, in both durability
// modes.
//
// `changes/s` is by the wall clock, `cpu/change` covers all threads of the process. The data is in
// a folder within TMPDIR.

#include <benchmark/benchmark.h>

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>

#include "bench/cpu_seconds.h"
#include "storage/data_folder/open_data.h"
#include "storage/log/journal.h"
#include "storage/records/rows.h"

namespace {

using namespace fairlock::storage;  // NOLINT(google-build-using-namespace)

// Maximum number of unfinished batches, which is the number of turns whose replies may be held
// back.
constexpr std::uint64_t kUnfinishedMax = 64;

using fairlock::bench::CpuSeconds;

class Loop {
 public:
  void Wake() {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
    woken_.notify_one();
  }
  void WaitUntil(Journal& journal, std::uint64_t batch) {
    while (journal.Look().completed_batch < batch) {
      std::unique_lock lock(mutex_);
      woken_.wait(lock, [this] { return is_woken_; });
      is_woken_ = false;
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;
};

void FillBatch(RecordWriter& batch, std::uint64_t number, std::int64_t changes) {
  fairlock::rows::Hold row;
  row.claim.owner = "worker-1:4711:0123456789abcdef01";
  row.claim.lease_ms = 30'000;
  std::string key;
  for (std::int64_t i = 0; i < changes; ++i) {
    const std::uint64_t token = number * 1'024 + static_cast<std::uint64_t>(i);
    key = "lock:" + std::to_string(token % 1'000'003);
    row.id = {.db = 0, .token = token, .key = key};
    if ((number & 1) == 0) {
      PutRow(batch, row);
    } else {
      DeleteHold(batch, row.id);
    }
  }
}

void AppendBatches(benchmark::State& state, Durability durability) {
  std::string path = (std::filesystem::temp_directory_path() / "fairlock-bench-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return state.SkipWithError("cannot create a folder");
  double cpu_seconds = 0;
  {
    RowTable table;
    auto data = OpenData({.directory = {.path = path + "/data"}}, table);
    if (!data.ok()) return state.SkipWithError(data.status().message().c_str());
    Loop loop;
    Journal journal(*data->store, data->end, {.durability = durability}, [&] { loop.Wake(); });
    RecordWriter batch;
    const double before = CpuSeconds();
    for (auto _ : state) {
      FillBatch(batch, journal.open_batch(), state.range(0));
      const std::uint64_t number = journal.Append(batch).batch;
      if (number > kUnfinishedMax) loop.WaitUntil(journal, number - kUnfinishedMax);
    }
    loop.WaitUntil(journal, journal.open_batch() - 1);
    cpu_seconds = CpuSeconds() - before;
  }
  const double changes =
      static_cast<double>(state.iterations()) * static_cast<double>(state.range(0));
  state.counters["changes/s"] = benchmark::Counter(changes, benchmark::Counter::kIsRate);
  state.counters["cpu_us/change"] = cpu_seconds * 1e6 / changes;
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void Async(benchmark::State& state) { AppendBatches(state, Durability::kProcess); }
void Sync(benchmark::State& state) { AppendBatches(state, Durability::kMachine); }
BENCHMARK(Async)->Arg(1)->Arg(16)->Arg(256)->UseRealTime();
BENCHMARK(Sync)->Arg(1)->Arg(16)->Arg(256)->UseRealTime();

}  // namespace
