#include "cli/arguments/command.h"

#include <cstdio>

#include "json/reply_json.h"

namespace fairlock::cli {

bool Context::Print(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0;
}

bool Context::PrintJson(const boost::json::value& value) const {
  return PrintJsonText(json::Written(value) + "\n");
}

bool Context::PrintJsonText(std::string_view text) const {
  return Print(out.is_terminal ? PrintableJson(text, out.charset) : std::string(text));
}

void Context::Say(std::string_view text) const {
  const std::string line = "fairlockctl: " + std::string(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace fairlock::cli
