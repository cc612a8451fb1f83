// Where a request comes from.
#pragma once

#include <cstdint>

namespace fairlock::command {

enum class Origin : std::uint8_t { kClient, kScript };

}  // namespace fairlock::command
