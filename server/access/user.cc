#include "server/access/user.h"

#include <algorithm>

namespace fairlock::access {

bool Globs::Match(std::string_view text, std::uint64_t& compared) const {
  if (is_all_) return true;
  // Such a text cannot match: no valid name is longer, but the text may be any argument of a
  // request.
  if (text.size() > kTextBytesMax) return false;
  return std::any_of(parsed_.begin(), parsed_.end(), [&](const engine::Glob& glob) {
    ++compared;
    return glob.Matches(text, compared);
  });
}

bool Globs::Have(std::string_view glob) const {
  return std::find(globs_.begin(), globs_.end(), glob) != globs_.end();
}

bool Globs::Add(std::string_view glob) {
  if (is_all_ && is_given_) return false;
  if (glob == "*") {
    SetAll();
  } else if (!Have(glob)) {
    globs_.emplace_back(glob);
    parsed_.emplace_back(glob);
    is_all_ = false;
  }
  is_given_ = true;
  return true;
}

void Globs::SetAll() {
  is_all_ = true;
  is_given_ = true;
  globs_.clear();
  parsed_.clear();
}

void Globs::SetNone() {
  is_all_ = false;
  is_given_ = true;
  globs_.clear();
  parsed_.clear();
}

bool User::MayUse(std::string_view key, KeyUse use, std::uint64_t& compared) const {
  return read_keys.Match(key, compared) &&
         (use == KeyUse::kRead || written_keys.Match(key, compared));
}

bool User::IsUnlimited() const {
  return commands.all() && read_keys.is_all() && written_keys.is_all() && channels.is_all() &&
         owners.is_all();
}

bool IsUserName(std::string_view name) {
  constexpr std::size_t kNameBytesMax = 128;
  return !name.empty() && name.size() <= kNameBytesMax && name.front() != '(' &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

User UnlimitedUser(std::string_view name) {
  User user{.name = std::string(name), .is_on = true, .needs_no_password = true};
  user.commands.set();
  user.command_rules = {"+@all"};
  user.read_keys.SetAll();
  user.written_keys.SetAll();
  return user;
}

}  // namespace fairlock::access
