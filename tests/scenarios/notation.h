// Prints values in the notation of scenarios, so that what a failure prints can be pasted into a
// scenario.
#pragma once

#include <string>
#include <string_view>

#include "protocol/reply.h"
#include "tests/scenarios/pattern.h"

namespace fairlock::scenarios {

// Writes it in double quotes, with escapes; long texts are truncated.
std::string ShowText(std::string_view text);
std::string ShowReply(const protocol::Reply& reply);
std::string ShowPattern(const Pattern& pattern);

}  // namespace fairlock::scenarios
