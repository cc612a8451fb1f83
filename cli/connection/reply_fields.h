// Reads the fields of replies that are maps. A field that an older server does not know is as if it
// were nil.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/reply.h"

namespace fairlock::cli {

// The value behind the name; null if there is none. Valid as long as the map.
const protocol::Reply* FindField(const protocol::Reply& map, std::string_view name);

// Empty: nil, or no text.
std::string TextField(const protocol::Reply& map, std::string_view name);

// None: nil, or no integer.
std::optional<std::int64_t> IntegerField(const protocol::Reply& map, std::string_view name);

inline std::int64_t IntegerOr(const protocol::Reply& map, std::string_view name,
                              std::int64_t fallback = 0) {
  return IntegerField(map, name).value_or(fallback);
}

}  // namespace fairlock::cli
