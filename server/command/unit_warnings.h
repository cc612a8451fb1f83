// Says once per client library that its durations without a unit look like seconds.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "server/engine/types.h"

namespace fairlock::command {

class CommandLog;
struct ClientProfile;

// A duration that a request gave without a unit.
struct BareDuration {
  std::string_view option;
  engine::DurationMs ms = 0;  // 0: there is none
};

// Loop-confined. Remembers at most kLibrariesMax names, which clients choose.
class UnitWarnings {
 public:
  // Shorter ones are likely meant in seconds.
  static constexpr engine::DurationMs kSuspectMsMax = 999;
  static constexpr std::size_t kLibrariesMax = 100;

  explicit UnitWarnings(CommandLog& log) : log_(log) {}

  // A request of that command gave a lease in seconds beside the duration.
  void Warn(const ClientProfile& client, std::string_view command, const BareDuration& duration);

 private:
  CommandLog& log_;
  std::set<std::string, std::less<>> warned_;
};

}  // namespace fairlock::command
