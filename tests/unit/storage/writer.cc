// The program that the crash tests start: appends to a data folder until it is killed or gets an
// error.
//
//   storage_writer FOLDER async|sync BATCHES [failing-call K | file-bytes N]
//
// Writes 8-byte numbers to standard output: first the number of the newest batch in the folder,
// then that of each batch that completes. Exits with 0 when all BATCHES are complete, with 3 after
// an error from the store, and with 4 if the folder's content is not what the batches produce; the
// reason is on standard error.

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "storage/data_folder/open_data.h"
#include "storage/log/journal.h"
#include "storage/records/rows.h"
#include "tests/unit/storage/failing_files.h"

namespace {

using namespace fairlock::storage;  // NOLINT(google-build-using-namespace)

constexpr std::uint64_t kKeys = 50;
constexpr std::uint64_t kBatchesPerSnapshot = 120;
constexpr std::uint64_t kSlices = 10;
// Alternate runs of this many batches may be appended at once.
constexpr std::uint64_t kBatchesAtOnce = 16;

int Fail(int code, const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::fflush(stderr);
  // Like the server, closes nothing after an error.
  _exit(code);
}

std::uint64_t NowNs() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since).count());
}

void Report(std::uint64_t batch) {
  if (write(STDOUT_FILENO, &batch, sizeof batch) != sizeof batch) _exit(5);
}

// Batch n sets the key n modulo 50, and removes the key that is 25 further on.
void PutKey(RecordWriter& record, std::uint64_t key, std::uint64_t batch) {
  const std::string name = "key" + std::to_string(key);
  fairlock::rows::Hold row;
  row.id = {.token = key + 1, .key = name};
  row.claim.owner = std::string_view("owner of a lock in a test of crashes");
  row.claim.lease_ms = static_cast<fairlock::rows::DurationMs>(batch);
  PutRow(record, row);
}

std::map<std::uint64_t, std::uint64_t> StateAfter(std::uint64_t batch) {
  std::map<std::uint64_t, std::uint64_t> state;
  for (std::uint64_t n = batch > kKeys ? batch - kKeys : 1; n <= batch; ++n) {
    state[n % kKeys] = n;
    state.erase((n + kKeys / 2) % kKeys);
  }
  return state;
}

bool IsState(const RowTable& table, std::uint64_t batch) {
  std::map<std::uint64_t, std::uint64_t> found;
  for (const auto& [name, value] : table.rows()) {
    fairlock::rows::Hold row;
    if (!DecodeRow(name.second, value, row)) return false;
    found[row.id.token - 1] = static_cast<std::uint64_t>(row.claim.lease_ms);
  }
  return found == StateAfter(batch);
}

class Writer {
 public:
  Writer(Store& store, const LogEnd& end, Durability durability)
      : first_(end.next_batch),
        reported_(end.next_batch - 1),
        journal_(store, end,
                 {.durability = durability,
                  .flush_interval = std::chrono::milliseconds(5),
                  .awaits_begin = durability == Durability::kMachine,
                  .monotonic_ns = NowNs},
                 [this] {
                   const std::lock_guard lock(mutex_);
                   is_woken_ = true;
                   woken_.notify_one();
                 }) {}

  void Write(std::uint64_t batches) {
    for (std::uint64_t i = 0; i < batches; ++i) {
      const std::uint64_t number = journal_.open_batch();
      RecordWriter batch;
      PutKey(batch, number % kKeys, number);
      const std::uint64_t gone = (number + kKeys / 2) % kKeys;
      DeleteHold(batch, {.token = gone + 1, .key = "key" + std::to_string(gone)});
      const bool may_be_at_once =
          number / kBatchesAtOnce % 2 != 0 && journal_.Look().completed_batch + 1 == number;
      journal_.Append(batch, may_be_at_once ? AppendMode::kAtOnce : AppendMode::kGathered);
      StepSnapshot(number);
      ReportProgress();
      // Lets only a few batches be outstanding, but enough for some to be gathered in one write.
      while (number > reported_ + 8) WaitForProgress();
    }
    while (reported_ + 1 < first_ + batches) WaitForProgress();
    journal_.Stop();
    ReportProgress();
  }

 private:
  void StepSnapshot(std::uint64_t batch) {
    const std::uint64_t step = batch % kBatchesPerSnapshot;
    if (step == 10) {
      journal_.BeginSnapshot();
      next_slice_ = 0;
    }
    if (next_slice_ < kSlices) {
      RecordWriter slice;
      for (const auto& [key, value] : StateAfter(batch)) {
        if (key % kSlices == next_slice_) PutKey(slice, key, value);
      }
      journal_.AppendSlice(slice);
      if (++next_slice_ == kSlices) journal_.FinishSnapshot();
    }
  }

  void ReportProgress() {
    const JournalProgress progress = journal_.Look();
    while (reported_ < progress.completed_batch) Report(++reported_);
    if (progress.has_failed) Fail(3, journal_.failure().message());
    journal_.Begin();
  }

  void WaitForProgress() {
    {
      std::unique_lock lock(mutex_);
      woken_.wait(lock, [this] { return is_woken_; });
      is_woken_ = false;
    }
    ReportProgress();
  }

  std::uint64_t first_;
  std::uint64_t reported_;
  std::uint64_t next_slice_ = kSlices;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;
  Journal journal_;
};

void LimitFileSize(std::uint64_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(5);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) return Fail(5, "wrong arguments");
  OpenOptions options{.directory = {.path = argv[1]}};
  const auto durability =
      std::strcmp(argv[2], "sync") == 0 ? Durability::kMachine : Durability::kProcess;
  options.durability = durability;
  if (argc == 6 && std::strcmp(argv[4], "failing-call") == 0) {
    auto counter = std::make_shared<WriteCounter>();
    counter->first_failing = std::strtoull(argv[5], nullptr, 10);
    options.file_system = std::make_shared<FailingFiles>(counter);
  } else if (argc == 6) {
    LimitFileSize(std::strtoull(argv[5], nullptr, 10));
  }
  RowTable table;
  auto data = OpenData(options, table);
  if (!data.ok()) return Fail(3, data.status().message());
  const std::uint64_t newest = data->end.next_batch - 1;
  if (!IsState(table, newest)) return Fail(4, "not the state after " + std::to_string(newest));
  Report(newest);
  Writer(*data->store, data->end, durability).Write(std::strtoull(argv[3], nullptr, 10));
  return 0;
}
