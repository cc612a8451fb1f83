// Reads scenarios; docs/SCENARIOS.md describes their notation.
#pragma once

#include <string>
#include <string_view>

#include "tests/scenarios/scenario.h"

namespace fairlock::scenarios {

struct ReadResult {
  Scenario scenario;
  std::string error;  // empty: no error; otherwise "PATH:LINE: what is wrong"
};

ReadResult ReadScenario(std::string path, std::string_view text);

}  // namespace fairlock::scenarios
