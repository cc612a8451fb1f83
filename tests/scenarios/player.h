// Plays cases on a stage and says where one goes otherwise than expected.
#pragma once

#include <optional>
#include <string>

#include "tests/scenarios/scenario.h"
#include "tests/scenarios/stage.h"

namespace fairlock::scenarios {

struct PlayOptions {
  std::string path;      // in front of the line, in what is printed
  int resp_version = 2;  // in which connections begin
};

// None: all went as expected. Else "PATH:LINE: expected ..., got ...".
std::optional<std::string> Play(const Case& scenario_case, Stage& stage,
                                const PlayOptions& options);

}  // namespace fairlock::scenarios
