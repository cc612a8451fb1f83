// Ends holds by force, if they are still the ones that somebody has looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/client.h"
#include "cli/lock_views.h"
#include "cli/result.h"

namespace fairlock::cli {

struct Force {
  std::string key;
  std::optional<std::string> owner = {};  // only this one's holds
  std::optional<std::string> reason = {};
};

// Leaves only the holders that are to go.
void KeepOnlyTargets(LockView& lock, const Force& force);

// How many holds ended; none: others hold it than those in `seen`, and nothing was done.
Result<std::optional<std::int64_t>> BreakIfUnchanged(const Force& force, const LockView& seen,
                                                     Client& client);

}  // namespace fairlock::cli
