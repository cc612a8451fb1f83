#include "cli/base/clock.h"

#include <time.h>

namespace fairlock::cli {

namespace {

std::int64_t ReadNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

TimeMs NowMs() { return NowNs() / 1'000'000; }

std::int64_t NowNs() { return ReadNs(CLOCK_BOOTTIME); }

std::int64_t UnixTimeMs() { return ReadNs(CLOCK_REALTIME) / 1'000'000; }

}  // namespace fairlock::cli
