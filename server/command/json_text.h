// Texts as JSON writes them.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::command {

// In double quotes. What is not UTF-8 becomes U+FFFD, one for each byte that begins nothing. False:
// there was such a byte, so the text does not tell them all.
bool AppendJsonText(std::string& out, std::string_view bytes);

// In double quotes, with padding.
void AppendBase64(std::string& out, std::string_view bytes);

}  // namespace fairlock::command
