// Limits on the size of one request.

#pragma once

#include <cstdint>

namespace fairlock::protocol {

// Limits on one request, checked against the lengths that it announces. No memory is reserved for
// an announced length, so a connection never holds more than the bytes that it sent, which
// `request_bytes_max` limits.
struct RequestLimits {
  // This also limits how many keys one command can use: more than clients put into one DEL, but few
  // enough that one command does not delay the others.
  std::uint32_t arguments_max = 16 * 1024;
  // Large enough for a long script. Keys, owners and META have lower limits of their own.
  std::uint32_t argument_bytes_max = 512 * 1024;
  // For the whole frame, including lengths and line ends.
  std::uint32_t request_bytes_max = 1024 * 1024;
  // For one inline line, including its line end.
  std::uint32_t inline_bytes_max = 64 * 1024;
  // If set, error texts say that the client is not authenticated.
  bool before_auth = false;
};

inline constexpr RequestLimits kDefaultLimits{};

// Limits before log-in: enough for AUTH and HELLO with every option and long passwords.
inline constexpr RequestLimits kBeforeAuth{
    .arguments_max = 10,
    .argument_bytes_max = 48 * 1024,
    .request_bytes_max = 48 * 1024,
    .inline_bytes_max = 48 * 1024,
    .before_auth = true,
};

}  // namespace fairlock::protocol
