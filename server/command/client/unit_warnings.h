// Warns, once per client library, that durations it sends without a unit look like seconds.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "server/command/table/duration_text.h"

namespace fairlock::command {

class CommandLog;
struct ClientProfile;

// Loop-confined. Remembers at most kLibrariesMax library names, because clients choose them.
class UnitWarnings {
 public:
  static constexpr std::size_t kLibrariesMax = 100;

  explicit UnitWarnings(CommandLog& log) : log_(log) {}

  // Called when a request gave a lease in seconds and also `duration`, which has no unit.
  void Warn(const ClientProfile& client, std::string_view command, const BareDuration& duration);

 private:
  CommandLog& log_;
  std::set<std::string, std::less<>> warned_;
};

}  // namespace fairlock::command
