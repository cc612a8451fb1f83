// A step of a run as the seed gives it: an operation, and choices that are resolved when it runs.
//
// A step does not depend on earlier steps, so any part of a list of steps can be run: "UNLOCK by
// the second holder of this key" is resolved by who holds the key then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/simulation/call.h"
#include "tests/simulation/setting.h"

namespace fairlock::simulation {

enum class OwnerChoice : std::uint8_t { kAny, kHolder, kWaiter };
enum class TokenChoice : std::uint8_t { kNone, kRight, kEarlier, kUnknown };

// The base of a step's time.
enum class TimeChoice : std::uint8_t {
  kNow,           // `time_ms` from now
  kNextDeadline,  // `time_ms` after the engine's next deadline
  kTrueDeadline,  // `time_ms` after the next lease or wait ends according to what clients were told
};

struct Step {
  Operation operation = Operation::kSleep;
  OwnerChoice owner_choice = OwnerChoice::kAny;
  TokenChoice token_choice = TokenChoice::kNone;
  TimeChoice time_choice = TimeChoice::kNow;
  bool only_new = false;
  bool only_lengthens = false;
  bool has_lease = false;
  bool has_owner = true;  // kBreak: if false, all holds end
  int connection = 0;  // a slot; if its connection waits, the next slot whose connection does not
  bool prefers_waiting_connection = false;  // kUnblock, kDisconnect
  int key = 0;
  std::vector<int> more_keys{};  // for MLOCK, MRENEW and MUNLOCK; distinct, all of one database
  bool repeats_keys = false;     // use the keys of the owner's MLOCK on the key, if it has one
  bool reverses_keys = false;
  bool avoids_stakes = false;  // MLOCK by the next owner that has no hold or place on these keys
  int owner = 0;
  int new_owner = 0;
  int meta = kAbsent;
  int label = kAbsent;
  std::uint32_t limit = 0;  // 0 if not given
  bool is_shared = false;   // LIMIT is then not given
  bool has_session = false;
  bool replaces_newest = false;
  DurationMs grace_ms = 0;
  DurationMs keep_ms = 0;
  DurationMs min_hold_ms = 0;
  int waiters_max = kAbsent;
  int channel = 0;
  bool has_notify = false;
  std::size_t undone = 0;  // kDisconnect, kSubscribe, kUnsubscribe
  DurationMs lease_ms = 0;
  DurationMs wait_ms = 0;
  std::int64_t time_ms = 0;
  int pattern = 0;
  engine::WrittenEnd written_end = engine::WrittenEnd::kEndless;
  bool only_held = false;
  bool is_rename = false;
  bool is_past = false;  // the written hold, or the one given an expiry, ends at once
  ExpiryCondition condition = ExpiryCondition::kNone;
  std::uint64_t start = 0;
  std::uint64_t count = 0;
  std::size_t steps_max = 0;
  bool until_done = true;
};

// The first `count` steps of the seed; a larger count only adds steps at the end.
std::vector<Step> GenerateSteps(const Setting& setting, std::size_t count);

}  // namespace fairlock::simulation
