// Plays cases on a stage and reports where one differs from what it expects.
#pragma once

#include <optional>
#include <string>

#include "tests/scenarios/scenario.h"
#include "tests/scenarios/stage.h"

namespace fairlock::scenarios {

struct PlayOptions {
  std::string path;      // printed before the line number
  int resp_version = 2;  // the version in which connections begin
};

// Returns nullopt if everything went as expected. Otherwise "PATH:LINE: expected ..., got ...".
std::optional<std::string> Play(const Case& scenario_case, Stage& stage,
                                const PlayOptions& options);

}  // namespace fairlock::scenarios
