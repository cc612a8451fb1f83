// Encodes and decodes Base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fairlock::json {

// Encodes as in RFC 4648, with padding.
void AppendBase64(std::string& out, std::string_view bytes);
std::string Base64(std::string_view bytes);

// Returns nullopt unless the text is exactly what AppendBase64 produces.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace fairlock::json
