// How much a script may use before it is stopped, and how many scripts are cached.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlock::script {

// No other client is served while a script runs, so these limits determine how much time or memory
// one request can take away from all others.
struct ScriptLimits {
  // A step is one Lua instruction. Library functions that process long strings or tables are
  // charged additional steps for that. How long a step takes depends on what it does: ten million
  // steps take from 50 ms to more than a second.
  std::uint64_t steps_max = 10'000'000;
  // Measured from the beginning of the run. Checked after every command, at least every 100
  // instructions, and while a library function processes a long string or table.
  std::uint64_t time_max_ms = 100;
  // How much memory a script may use in addition to what was in use before.
  std::size_t memory_bytes_max = std::size_t{16} * 1024 * 1024;
  // Compiling is not charged as steps; these two bound it. The time may be quadratic in the length.
  std::size_t script_bytes_max = std::size_t{64} * 1024;
  std::uint64_t compile_ms_max = 25;  // measured in the processor's time
  std::size_t reply_bytes_max = std::size_t{4} * 1024 * 1024;
  // Per run; further lines are dropped.
  std::uint32_t log_lines_max = 16;

  // Limits on the scripts that EVALSHA can find.
  std::size_t cached_scripts_max = 1'000;
  std::size_t cached_bytes_max = std::size_t{4} * 1024 * 1024;
};
}  // namespace fairlock::script
