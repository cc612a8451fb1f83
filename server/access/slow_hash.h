// Hashes of passwords that take long to make, so that a file of them is worth little to a thief.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::access {

// Longer ones, and those with a zero byte, have no slow hash.
inline constexpr std::size_t kSlowPasswordBytesMax = 511;

// yescrypt with a salt of its own, as crypt(5) writes it: "$y$j9T$...". Takes about 10 ms and
// 16 MB. Empty: the password cannot be hashed so.
std::string MakeSlowHash(std::string_view password);

// Whether the text is one, whole: of yescrypt or another method that crypt(5) counts as strong.
bool IsSlowHash(std::string_view text);

// Whether the text has at least the method of one.
bool BeginsAsSlowHash(std::string_view text);

// Takes as long as making it. Thread-safe.
bool IsPasswordOf(std::string_view slow_hash, std::string_view password);

}  // namespace fairlock::access
