// Any text that is read as a configuration file is either refused with a reason, or can be printed
// as a file with the same meaning.

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

#include "server/config/config_file.h"
#include "server/config/config_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fairlock::server;  // NOLINT(google-build-using-namespace)
  const std::string text(reinterpret_cast<const char*>(data), size);
  Config config = DefaultConfig();
  const std::string wrong = ReadConfigText(text, "file", config);
  assert(wrong.empty() || wrong.starts_with("file:"));
  assert(std::all_of(wrong.begin(), wrong.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  if (!wrong.empty()) return 0;
  const std::string printed = ConfigFileText(config);
  Config again = DefaultConfig();
  assert(ReadConfigText(printed, "printed", again).empty());
  assert(ConfigFileText(again) == printed);
  return 0;
}
