// How much one request may ask for before it is refused.

#pragma once

#include <cstdint>

namespace fairlock::protocol {

// Bounds of one request, checked against the lengths that it claims: nothing is reserved for a
// claim, so a connection never holds more than the bytes that it sent, and those are bounded by
// `request_bytes_max`.
struct RequestLimits {
  // The keys one command can touch within a turn: more than clients put into one DEL, few enough
  // that one command does not hold up the others.
  std::uint32_t arguments_max = 16 * 1024;
  // Room for a large script. Keys, owners and META have their own, lower limits.
  std::uint32_t argument_bytes_max = 512 * 1024;
  // The whole frame, lengths and line ends included.
  std::uint32_t request_bytes_max = 1024 * 1024;
  // One inline line, its line end included.
  std::uint32_t inline_bytes_max = 64 * 1024;
  // The texts of the errors then say that the sender is not authenticated.
  bool before_auth = false;
};

inline constexpr RequestLimits kDefaultLimits{};

// Enough for AUTH and HELLO with every option, and for long passwords.
inline constexpr RequestLimits kBeforeAuth{
    .arguments_max = 10,
    .argument_bytes_max = 48 * 1024,
    .request_bytes_max = 48 * 1024,
    .inline_bytes_max = 48 * 1024,
    .before_auth = true,
};

}  // namespace fairlock::protocol
