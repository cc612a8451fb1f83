// Shows points in time in the local time zone.
#pragma once

#include <cstdint>
#include <string>

namespace fairlock::text {

// As strftime shows it: "%H:%M:%S" gives "15:04:42". At most 63 bytes.
std::string LocalTime(std::int64_t unix_ms, const char* format);

// The milliseconds of the time: "007".
std::string Thousandths(std::int64_t unix_ms);

// As the server's log shows it, with the zone: "2026-11-21T15:04:42.120+01:00".
std::string LogTime(std::int64_t unix_ms);

}  // namespace fairlock::text
