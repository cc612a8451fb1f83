// Finds the `run`s whose commands started this `run`: it would wait for them, and they for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/connection/client.h"
#include "cli/run/run_options.h"

namespace fairlock::cli {

// The variable FAIRLOCK_TOKENS of a command, which has the tokens of all runs that it runs in.
std::string TokensVariable(std::int64_t own_token);

struct OuterHold {
  std::string key;
  std::string owner;
};

// A hold of an outer run that excludes the request as long as it lasts; nullopt if there is none,
// or if the locks cannot be read. Asks the server only in an outer run.
std::optional<OuterHold> FindOuterHold(const RunOptions& options, Client& client);

}  // namespace fairlock::cli
