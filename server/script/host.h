// What a script can reach outside Lua: the commands, the time and the log.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fairlock::script {

// In the order of redis.LOG_DEBUG to redis.LOG_WARNING.
enum class LogLevel : std::uint8_t { kDebug, kVerbose, kNotice, kWarning };

// One call of redis.call or redis.pcall. Views are valid during the call.
struct CommandCall {
  std::span<const std::string_view> arguments;  // the first is the command's name; never empty
  bool is_read_only;                            // commands that write must be refused
};

// Implemented by the code that runs scripts. Loop-confined.
class Host {
 public:
  // Appends exactly one reply, in RESP2. Must not run another script.
  virtual void Execute(const CommandCall& call, std::string& reply) = 0;
  // Reads a monotonic clock with an arbitrary start. Called when a script begins and after each
  // command.
  virtual std::uint64_t NowNs() = 0;
  // Reads the processor time of this thread, which stands still while other programs run. Called
  // while a script is compiled.
  virtual std::uint64_t ProcessorNs() = 0;
  virtual void Log(LogLevel level, std::string_view text) = 0;
  // Called if the script's reply is or contains an error with this text that no command has caused.
  virtual void CountError(std::string_view text) { static_cast<void>(text); }

 protected:
  ~Host() = default;
};

}  // namespace fairlock::script
