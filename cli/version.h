// The version of fairlockctl, which is the version of the project.
#pragma once

#include <string_view>

namespace fairlock::cli {

std::string_view Version();

}  // namespace fairlock::cli
