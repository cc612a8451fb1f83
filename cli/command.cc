#include "cli/command.h"

#include <cstdio>

namespace fairlock::cli {

bool Context::Print(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0;
}

void Context::Say(std::string_view text) const {
  const std::string line = "fairlockctl: " + std::string(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace fairlock::cli
