// Any bytes as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fairlock::json {

// RFC 4648, with padding.
void AppendBase64(std::string& out, std::string_view bytes);
std::string Base64(std::string_view bytes);

// None: it is not what the above makes.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace fairlock::json
