// Values computed once at the start of the server.
#pragma once

#include <cstdint>
#include <string>

#include "server/command/environment/environment.h"

namespace fairlock::server {

// From the kernel's random number generator.
std::uint64_t RandomSeed();
// 40 hexadecimal digits.
std::string RandomRunId();

// (Seconds since the beginning of 2020, with their fraction) * 2^20, at least 1 and at most 2^52:
// if the clock is correct, higher than all tokens issued after earlier starts, provided that these
// issued fewer than 2^20 per second.
std::uint64_t FirstToken(std::int64_t unix_us);

// The facts about the process and the machine that never change.
command::ServerFacts ReadFacts();

}  // namespace fairlock::server
