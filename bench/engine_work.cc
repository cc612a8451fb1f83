// fairlock_engine_work OPERATION COUNT
//
// Does a fixed amount of engine work, with the same instructions in every run, for tools that count
// them (engine_instructions.sh). The set-up depends on the operation, not on the count.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "bench/engine_workload.h"

namespace {

using fairlock::bench::EngineWorkload;

constexpr std::size_t kKeys = 10'000;
constexpr std::size_t kPlaces = 1000;
constexpr std::size_t kOwners = kPlaces + 1;
constexpr fairlock::engine::DurationMs kLeaseMs = 24 * 3'600'000;

struct Operation {
  std::string_view name;
  void (*run)(std::size_t count);
};

void LockAndUnlock(std::size_t count) {
  EngineWorkload workload(kKeys);
  for (std::size_t i = 0; i < count; ++i) {
    workload.Lock(i % kKeys);
    workload.Unlock(i % kKeys);
  }
}

void LockAndUnlockRecorded(std::size_t count) {
  EngineWorkload workload(kKeys);
  workload.Record();
  // Enough events to fill the history, so that each new event overwrites an old one, as in a
  // long-running server.
  constexpr std::size_t kUntilFull = 120'000;
  for (std::size_t i = 0; i < kUntilFull + count; ++i) {
    workload.Lock(i % kKeys);
    workload.Unlock(i % kKeys);
  }
}

void UnlockAndLockAmongHeld(std::size_t count) {
  EngineWorkload workload(kKeys);
  workload.LockAllAtOnce();
  for (std::size_t i = 0; i < count; ++i) {
    workload.Unlock(i % kKeys);
    workload.Lock(i % kKeys);
  }
}

void Renew(std::size_t count) {
  EngineWorkload workload(kKeys);
  workload.LockAllAtOnce();
  for (std::size_t i = 0; i < count; ++i) workload.Renew(i % kKeys);
}

void LockDenied(std::size_t count) {
  EngineWorkload workload(kKeys, kLeaseMs);
  workload.AddOwners(2);
  workload.LockAllAtOnce();
  for (std::size_t i = 0; i < count; ++i) workload.LockDenied(i % kKeys);
}

void LockDeniedRecorded(std::size_t count) {
  EngineWorkload workload(kKeys, kLeaseMs);
  workload.AddOwners(2);
  workload.LockAllAtOnce();
  workload.Record();
  for (std::size_t i = 0; i < count; ++i) workload.LockDenied(i % kKeys);
}

void HandOverAndJoin(std::size_t count) {
  EngineWorkload workload(1, kLeaseMs);
  workload.AddOwners(kOwners);
  workload.Lock(0);
  for (std::size_t owner = 1; owner < kOwners; ++owner) workload.Join(0, owner);
  for (std::size_t i = 0; i < count; ++i) {
    workload.HandOver(0, i % kOwners);
    workload.Join(0, i % kOwners);
  }
}

constexpr Operation kOperations[] = {
    {"lock-unlock", LockAndUnlock},
    {"lock-unlock-recorded", LockAndUnlockRecorded},
    {"lock-unlock-among-held", UnlockAndLockAmongHeld},
    {"renew", Renew},
    {"lock-denied", LockDenied},
    {"lock-denied-recorded", LockDeniedRecorded},
    {"hand-over-join", HandOverAndJoin},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 3 ? argv[1] : "";
  const std::string_view digits = argc == 3 ? argv[2] : "";
  std::size_t count = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  for (const Operation& operation : kOperations) {
    if (operation.name != name || count == 0) continue;
    operation.run(count);
    return 0;
  }
  std::fputs("usage: fairlock_engine_work OPERATION COUNT; the operations are\n", stderr);
  for (const Operation& operation : kOperations) {
    std::fprintf(stderr, "  %s\n", operation.name.data());
  }
  return 2;
}
