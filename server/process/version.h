// The version of this build.
#pragma once

#include <string_view>

namespace fairlock::server {

// "0.1.0"
std::string_view Version();

}  // namespace fairlock::server
