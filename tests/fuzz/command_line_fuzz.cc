// Any command line is either refused with a reason or understood, and then each option has a value
// that it accepts. The input has one argument per line.

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/command_line.h"
#include "server/config/config_options.h"
#include "tests/fuzz/play.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fairlock::server;  // NOLINT(google-build-using-namespace)
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> texts;
  while (!rest.empty()) {
    const std::string_view line = fairlock::fuzz::TakeLine(rest);
    texts.emplace_back(line.substr(0, line.find('\0')));
    // The option --config would read files of this machine.
    if (texts.back().starts_with("--config")) return 0;
  }
  std::vector<const char*> arguments(texts.size());
  std::transform(texts.begin(), texts.end(), arguments.begin(),
                 [](const std::string& text) { return text.c_str(); });
  const CommandLine line = ReadCommandLine(arguments);
  assert(line.error.empty() || line.error.starts_with("command line: "));
  if (!line.error.empty()) return 0;
  for (const Option& option : AllOptions()) {
    Config config = DefaultConfig();
    const std::string shown = ShowOption(option, line.config);
    assert(SetOption(option, shown, config).empty());
    assert(ShowOption(option, config) == shown);
  }
  return 0;
}
