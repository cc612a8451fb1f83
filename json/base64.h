// Any bytes as text.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::json {

// RFC 4648, with padding.
void AppendBase64(std::string& out, std::string_view bytes);
std::string Base64(std::string_view bytes);

}  // namespace fairlock::json
