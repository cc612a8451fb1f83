// Reads the fields of map replies. A field that an older server does not send counts as nil.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/reply.h"

namespace fairlock::cli {

// The field's value, or null if there is none. Valid as long as the map is.
const protocol::Reply* FindField(const protocol::Reply& map, std::string_view name);

// Empty if the field is nil or not a string.
std::string TextField(const protocol::Reply& map, std::string_view name);

// nullopt if the field is nil or not an integer.
std::optional<std::int64_t> IntegerField(const protocol::Reply& map, std::string_view name);

inline std::int64_t IntegerOr(const protocol::Reply& map, std::string_view name,
                              std::int64_t fallback = 0) {
  return IntegerField(map, name).value_or(fallback);
}

}  // namespace fairlock::cli
