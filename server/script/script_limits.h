// What a script may use before it is stopped, and how many scripts are kept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlock::script {

// Nobody else is served while a script runs, so each of these bounds what one request can take away
// from all others.
struct ScriptLimits {
  // A step is one instruction of Lua; functions of the library that work through long strings or
  // tables are charged steps for it. Ten million are about 100 ms.
  std::uint64_t steps_max = 10'000'000;
  // From its begin. Looked at after every command, and every hundred instructions.
  std::uint64_t time_max_ms = 1'000;
  // That a script may hold beyond what it found.
  std::size_t memory_bytes_max = std::size_t{16} * 1024 * 1024;
  // Compiling is not counted in steps and can take time in the square of the length.
  std::size_t script_bytes_max = std::size_t{64} * 1024;
  std::size_t reply_bytes_max = std::size_t{4} * 1024 * 1024;
  // Of one run; what comes behind is left out.
  std::uint32_t log_lines_max = 16;

  // The scripts that EVALSHA finds.
  std::size_t cached_scripts_max = 1'000;
  std::size_t cached_bytes_max = std::size_t{4} * 1024 * 1024;
};
}  // namespace fairlock::script
