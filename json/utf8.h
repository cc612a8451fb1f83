// Which bytes are UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace fairlock::json {

// The length of the UTF-8 character at the front of a text that is not empty; 0: there is none.
// RFC 3629: neither longer than necessary, nor a surrogate, nor above U+10FFFF.
std::size_t Utf8CharacterBytes(std::string_view bytes);

}  // namespace fairlock::json
