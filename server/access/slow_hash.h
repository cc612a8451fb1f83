// Password hashes that are expensive to compute, so that a stolen file with such hashes is of
// little use.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::access {

// Longer passwords, and those with a zero byte, cannot be hashed.
inline constexpr std::size_t kSlowPasswordBytesMax = 511;

// Hashes with yescrypt and a random salt, in the format of crypt(5): "$y$j9T$...". Takes about 10
// ms and 16 MB. Returns an empty string if the password cannot be hashed.
std::string MakeSlowHash(std::string_view password);

// Whether the text is a complete hash made with yescrypt or another method that crypt(5) considers
// strong.
bool IsSlowHash(std::string_view text);

// Whether the text at least starts with the prefix of such a method.
bool BeginsAsSlowHash(std::string_view text);

// Takes as long as MakeSlowHash. Thread-safe.
bool IsPasswordOf(std::string_view slow_hash, std::string_view password);

}  // namespace fairlock::access
