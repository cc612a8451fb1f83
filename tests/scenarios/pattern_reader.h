// Reads the expected form of a reply.
#pragma once

#include "tests/scenarios/line_reader.h"
#include "tests/scenarios/pattern.h"

namespace fairlock::scenarios {

// Errors are recorded in the reader.
Pattern ReadPattern(LineReader& reader);

}  // namespace fairlock::scenarios
