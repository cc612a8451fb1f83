// Prints values in the notation of scenarios, so that the output of a failure can be pasted into
// one.
#pragma once

#include <string>
#include <string_view>

#include "protocol/reply.h"
#include "tests/scenarios/pattern.h"

namespace fairlock::scenarios {

// In double quotes, with escapes; long texts are cut.
std::string ShowText(std::string_view text);
std::string ShowReply(const protocol::Reply& reply);
std::string ShowPattern(const Pattern& pattern);

}  // namespace fairlock::scenarios
