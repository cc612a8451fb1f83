#include "cli/connection/own_name.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace fairlock::cli {

namespace {

std::string Visible(std::string_view part) {
  std::string text(part.substr(0, kNamePartBytesMax));
  std::ranges::replace_if(
      text, [](char c) { return c < '!' || c > '~'; }, '_');
  return text;
}

std::string UserName() {
  const passwd* const entry = getpwuid(getuid());
  return entry == nullptr ? "uid" + std::to_string(getuid()) : std::string(entry->pw_name);
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

}  // namespace

std::string NameFor(std::string_view user, std::string_view host) {
  return "fairlockctl/" + Visible(user) + "@" + Visible(host);
}

const std::string& OwnName() {
  static const std::string name = NameFor(UserName(), HostName());
  return name;
}

}  // namespace fairlock::cli
