// The version of this build.
#pragma once

#include <string_view>

namespace fairlock::server {

// A version number such as "0.1.0".
std::string_view Version();

}  // namespace fairlock::server
