// The version of the tool, which is that of the project.
#pragma once

#include <string_view>

namespace fairlock::cli {

std::string_view Version();

}  // namespace fairlock::cli
