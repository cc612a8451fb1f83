// Texts as JSON writes them.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::json {

// In double quotes. What is not UTF-8 becomes U+FFFD, one for each byte that begins nothing. False:
// there was such a byte, so the text does not tell them all.
bool AppendJsonText(std::string& out, std::string_view bytes);

}  // namespace fairlock::json
