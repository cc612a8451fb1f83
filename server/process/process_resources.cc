#include "server/process/process_resources.h"

#include <sys/resource.h>

namespace fairlock::server {

namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

command::ResourceUse ProcessResources::Resources() const {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.user_cpu_seconds = Seconds(usage.ru_utime),
          .system_cpu_seconds = Seconds(usage.ru_stime),
          .resident_bytes = MemoryMeter::ResidentBytes(),
          .allocated_bytes = MemoryMeter::AllocatedBytes()};
}

std::uint64_t ProcessResources::MemoryInUse(bool asks_anew) {
  return asks_anew ? memory_.Measure() : memory_.Estimate();
}

}  // namespace fairlock::server
