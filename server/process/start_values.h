// Values computed once at the start of the server.
#pragma once

#include <cstdint>
#include <string>

#include "server/command/environment/environment.h"

namespace fairlock::server {

// A number from the kernel's random number generator.
std::uint64_t RandomSeed();
// A random string of 40 hexadecimal digits.
std::string RandomRunId();

// Returns (seconds since the beginning of 2020, including the fraction) * 2^20, at least 1 and at
// most 2^52. If the clock is correct, this is higher than all tokens issued after earlier starts,
// provided that fewer than 2^20 tokens per second were issued.
std::uint64_t FirstToken(std::int64_t unix_us);

// Reads the facts about the process and the machine that never change.
command::ServerFacts ReadFacts();

}  // namespace fairlock::server
