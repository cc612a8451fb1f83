// The one way in which the load generator gives up.
#pragma once

#include <string_view>

namespace fairlock::bench {

// Says what went wrong and ends the process with 1. A measurement in which anything was not as
// expected is none.
[[noreturn]] void Fail(std::string_view what);
// The same with what the operating system says of its last error.
[[noreturn]] void FailWithErrno(std::string_view what);

}  // namespace fairlock::bench
