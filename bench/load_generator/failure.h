// Ends the load generator after an error.
#pragma once

#include <string_view>

namespace fairlock::bench {

// Prints the reason and exits with status 1. Any unexpected event invalidates a measurement.
[[noreturn]] void Fail(std::string_view what);
// Does the same, and adds a description of errno.
[[noreturn]] void FailWithErrno(std::string_view what);

}  // namespace fairlock::bench
