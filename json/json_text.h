// Writes JSON strings.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::json {

// Appends a quoted JSON string. Each byte that is not part of valid UTF-8 becomes U+FFFD. Returns
// false if there was such a byte, because the string then does not contain all of the original
// bytes.
bool AppendJsonText(std::string& out, std::string_view bytes);

}  // namespace fairlock::json
