#include "server/script/shebang.h"

#include <algorithm>
#include <array>

namespace fairlock::script {

namespace {

constexpr std::string_view kReadOnly = "no-writes";
// The flags that Redis knows. All except no-writes have no effect: they allow something that is
// always allowed here, or concern features that do not exist here.
constexpr auto kFlags = std::to_array<std::string_view>(
    {kReadOnly, "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"});

// Removes the text up to and including `end`, and returns it without `end`. If there is no `end`,
// takes everything.
std::string_view TakeUpTo(char end, std::string_view& text) {
  const std::size_t length = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return part;
}

void ReadFlags(std::string_view flags, Shebang& shebang) {
  while (!flags.empty() && shebang.error.empty()) {
    const std::string_view flag = TakeUpTo(',', flags);
    if (std::find(kFlags.begin(), kFlags.end(), flag) == kFlags.end()) {
      shebang.error = "Unexpected flag in script shebang: " + std::string(flag);
    }
    shebang.is_read_only = shebang.is_read_only || flag == kReadOnly;
  }
}

}  // namespace

Shebang ReadShebang(std::string_view text) {
  constexpr std::string_view kFlagsOption = "flags=";
  Shebang shebang;
  if (!text.starts_with("#!")) return shebang;
  shebang.bytes = text.find('\n');
  if (shebang.bytes == std::string_view::npos) {
    shebang.error = "Invalid script shebang";
    return shebang;
  }
  std::string line(text.substr(0, shebang.bytes));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\t' || c == '\r'; }, ' ');
  std::string_view rest = line;
  const std::string_view engine = TakeUpTo(' ', rest);
  if (engine != "#!lua") {
    shebang.error = "Unexpected engine in script shebang: " + std::string(engine);
  }
  while (!rest.empty() && shebang.error.empty()) {
    const std::string_view option = TakeUpTo(' ', rest);
    if (option.starts_with(kFlagsOption)) {
      ReadFlags(option.substr(kFlagsOption.size()), shebang);
    } else if (!option.empty()) {
      shebang.error = "Unknown lua shebang option: " + std::string(option);
    }
  }
  return shebang;
}

}  // namespace fairlock::script
