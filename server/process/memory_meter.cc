#include "server/process/memory_meter.h"

#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <utility>

// A function of jemalloc; null if jemalloc is not linked.
extern "C" int mallctl(const char* name, void* old_value, std::size_t* old_bytes, void* new_value,
                       std::size_t new_bytes) __attribute__((weak));

namespace fairlock::server {

namespace {

const std::uint64_t* CountOfThread(const char* name) {
  std::uint64_t* count = nullptr;
  std::size_t bytes = sizeof(count);
  const bool is_told = mallctl != nullptr && mallctl(name, &count, &bytes, nullptr, 0) == 0;
  return is_told ? count : nullptr;
}

}  // namespace

std::uint64_t MemoryMeter::ResidentBytes() {
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t MemoryMeter::AllocatedBytes() {
  if (mallctl == nullptr) return 0;
  // jemalloc refreshes its statistics only when the epoch advances.
  std::uint64_t epoch = 1;
  std::size_t bytes = sizeof(epoch);
  mallctl("epoch", &epoch, &bytes, &epoch, sizeof(epoch));
  std::size_t allocated = 0;
  bytes = sizeof(allocated);
  return mallctl("stats.allocated", &allocated, &bytes, nullptr, 0) == 0 ? allocated : 0;
}

std::uint64_t MemoryMeter::Measure() {
  if (!std::exchange(has_counts_, true)) {
    taken_ = CountOfThread("thread.allocatedp");
    given_back_ = CountOfThread("thread.deallocatedp");
  }
  const std::uint64_t allocated = AllocatedBytes();
  measured_ = allocated != 0 ? allocated : ResidentBytes();
  taken_when_measured_ = TakenByThread();
  return measured_;
}

std::uint64_t MemoryMeter::Estimate() const {
  // The difference may wrap below zero, but the sum is correct modulo 2^64.
  return measured_ + (TakenByThread() - taken_when_measured_);
}

std::uint64_t MemoryMeter::TakenByThread() const {
  if (taken_ == nullptr || given_back_ == nullptr) return 0;
  return *taken_ - *given_back_;
}

}  // namespace fairlock::server
