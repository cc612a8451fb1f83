// Recognises UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace fairlock::json {

// The length of the UTF-8 character at the front of a nonempty text, or 0 if there is none. As in
// RFC 3629, overlong forms, surrogates and values above U+10FFFF are invalid.
std::size_t Utf8CharacterBytes(std::string_view bytes);

}  // namespace fairlock::json
