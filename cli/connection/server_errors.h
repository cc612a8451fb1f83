// Errors that the server answers, as failures of the tool.
#pragma once

#include <string>
#include <string_view>

#include "cli/base/result.h"

namespace fairlock::cli {

// The stable first word of an error, "ERR" for instance.
std::string_view ErrorWord(std::string_view error);

// The same request may succeed a little later, on this connection or another: the server is
// starting, stopping, or cannot write.
bool IsPassing(std::string_view error);

// For the one who ran the tool: the server's own words, and what to try next where they do not say.
Failure ServerFailure(std::string_view error, const std::string& server_name);

}  // namespace fairlock::cli
