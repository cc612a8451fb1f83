// Reads what a reply is expected to be.
#pragma once

#include "tests/scenarios/line_reader.h"
#include "tests/scenarios/pattern.h"

namespace fairlock::scenarios {

// What is wrong is latched by the reader.
Pattern ReadPattern(LineReader& reader);

}  // namespace fairlock::scenarios
