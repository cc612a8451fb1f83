#include "server/net/clock.h"

#include <time.h>

#include <atomic>
#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace fairlock::net {

namespace {

#ifdef __x86_64__
// Whether the counter runs at a constant rate, independent of the processor's frequency and sleep
// states.
bool HasEvenCounter() {
  constexpr unsigned kPowerManagement = 0x8000'0007;
  constexpr unsigned kInvariantCounter = 1U << 8;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(kPowerManagement, &eax, &ebx, &ecx, &edx) != 0 &&
         (edx & kInvariantCounter) != 0;
}

const bool kHasEvenCounter = HasEvenCounter();
#endif

std::uint64_t NsOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

constexpr std::int64_t kNotHeld = -1;
std::atomic<std::int64_t> boottime_held_at = kNotHeld;
std::atomic<std::int64_t> boottime_held_ms = 0;  // how far it is behind, from being held before

}  // namespace

std::int64_t MachineBoottimeMs() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

std::int64_t BoottimeMs() {
  const std::int64_t held_at = boottime_held_at;
  return held_at != kNotHeld ? held_at : MachineBoottimeMs() - boottime_held_ms;
}

void HoldBoottime(bool is_held) {
  if (is_held == (boottime_held_at != kNotHeld)) return;
  if (is_held) {
    boottime_held_at = BoottimeMs();
  } else {
    boottime_held_ms = MachineBoottimeMs() - boottime_held_at;
    boottime_held_at = kNotHeld;
  }
}

std::uint64_t MonotonicNs() { return NsOf(CLOCK_MONOTONIC); }

std::uint64_t ProcessorNs() { return NsOf(CLOCK_THREAD_CPUTIME_ID); }

std::uint64_t Ticks() {
#ifdef __x86_64__
  if (kHasEvenCounter) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
  return MonotonicNs();
}

std::int64_t UnixTimeUs() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

}  // namespace fairlock::net
