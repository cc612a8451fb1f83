// Runs a server's state in virtual time, and compares at many moments what a crash would leave with
// what was acknowledged.
#pragma once

#include <cstdint>
#include <string>

namespace fairlock::simulation {

struct CrashReport {
  std::uint64_t crash_points = 0;  // how many comparisons were made
  std::uint64_t crashes = 0;
  std::uint64_t clean_stops = 0;
  std::uint64_t snapshots = 0;
  std::string failure;  // empty if every comparison was right
};

// The seed determines everything.
CrashReport RunCrashes(std::uint64_t seed);

}  // namespace fairlock::simulation
