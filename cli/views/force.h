// Ends holds by force, if they are still the ones that somebody has looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

struct Force {
  std::string key;
  std::optional<std::string> owner = {};  // only this one's holds
  std::optional<std::string> reason = {};
};

// What ends by force, on one key or on many.
struct Ended {
  std::int64_t holds = 0;
  std::int64_t reservations = 0;  // each with the place that it was made for
  std::int64_t coolings = 0;      // keys with rooms that cool

  Ended& operator+=(const Ended& other);
};

Ended CountTargets(const LockView& lock);

// "1 hold", "2 holds and 1 reservation".
std::string EndedText(const Ended& ended);

// Leaves only what is to go: of one owner its holds, else reservations and coolings as well.
void KeepOnlyTargets(LockView& lock, const Force& force);

// What ended; none: others hold it than those in `seen`, or it is reserved for more of them, and
// nothing was done.
Result<std::optional<Ended>> BreakIfUnchanged(const Force& force, const LockView& seen,
                                              Client& client);

}  // namespace fairlock::cli
