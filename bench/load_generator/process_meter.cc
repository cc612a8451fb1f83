#include "bench/load_generator/process_meter.h"

#include <time.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "bench/load_generator/failure.h"

namespace fairlock::bench {

std::uint64_t CpuNs(pid_t pid) {
  std::uint64_t sum = 0;
  std::error_code error;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    std::uint64_t ns = 0;
    if (std::ifstream(task.path() / "schedstat") >> ns) sum += ns;
  }
  if (sum == 0) Fail("cannot read the CPU time of process " + std::to_string(pid));
  return sum;
}

std::uint64_t ResidentBytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "Rss:" && file >> kib) return kib * 1024;
  }
  Fail("cannot read the resident memory of process " + std::to_string(pid));
}

std::uint64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace fairlock::bench
