// Ends holds by force, provided that they are still the holds that the operator has seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

struct ForceRelease {
  std::string key;
  std::optional<std::string> owner = {};  // end only this owner's holds
  std::optional<std::string> reason = {};
  std::optional<DurationMs> grace_ms = {};  // the holders may release it before
};

// What a forced release ends, on one key or on several.
struct Ended {
  std::int64_t holds = 0;
  std::int64_t reservations = 0;  // each ends together with the place it was made for
  std::int64_t coolings = 0;      // keys in cooldown

  Ended& operator+=(const Ended& other);
};

Ended CountTargets(const LockView& lock);

// "1 hold", "2 holds and 1 reservation".
std::string EndedText(const Ended& ended);

// Removes from `lock` what the release does not end: with an owner, everything but the holds of
// that owner; with a grace, everything but holds.
void RemoveNonTargets(LockView& lock, const ForceRelease& force);

// Returns what ended. Returns nullopt and does nothing if the key has holders or reservations that
// are not in `seen`.
Result<std::optional<Ended>> BreakIfUnchanged(const ForceRelease& force, const LockView& seen,
                                              Client& client);

}  // namespace fairlock::cli
