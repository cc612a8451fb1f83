// Values that are made once at a start.
#pragma once

#include <cstdint>
#include <string>

#include "server/command/environment/environment.h"

namespace fairlock::server {

// From the kernel's random numbers.
std::uint64_t RandomSeed();
// 40 hexadecimal digits.
std::string RandomRunId();

// (Seconds since the beginning of 2020, with their fraction) * 2^20, at least 1 and at most 2^52:
// with a right clock higher than all tokens of every earlier start that gave out fewer than 2^20 a
// second.
std::uint64_t FirstToken(std::int64_t unix_us);

// What never changes of the process and the machine.
command::ServerFacts ReadFacts();

}  // namespace fairlock::server
