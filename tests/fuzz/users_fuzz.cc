// Any text that is read as an ACL file is either refused with a line number, or gives users who can
// be described in a file that gives the same users again.

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/access/user_rules.h"
#include "server/access/user_table.h"
#include "server/command/auth/access_control.h"
#include "server/command/handlers/command_families.h"
#include "server/command/table/command_table.h"

namespace {

using namespace fairlock::access;  // NOLINT(google-build-using-namespace)

const Vocabulary& Words() {
  static const Vocabulary vocabulary =
      fairlock::command::VocabularyOf(fairlock::command::WholeLanguage());
  return vocabulary;
}

UsersRead Read(std::string_view text) {
  return ReadUsers({.acl_text = std::string(text), .default_password = ""}, Words());
}

std::string Describe(const UserTable& table) {
  std::string text;
  for (const auto& [name, user] : table.users()) text += DescribeUser(user) + "\n";
  return text;
}

// Whether both users may run the same commands.
bool MayTheSame(const User& a, const User& b) {
  for (std::size_t i = 0; i < Words().commands().size(); ++i) {
    if (a.commands.test(i) != b.commands.test(i)) return false;
  }
  return true;
}

bool IsTheSame(const Globs& a, const Globs& b) {
  return a.is_all() == b.is_all() && std::is_permutation(a.globs().begin(), a.globs().end(),
                                                         b.globs().begin(), b.globs().end());
}

bool IsTheSame(const User& a, const User& b) {
  return a.is_on == b.is_on && a.needs_no_password == b.needs_no_password &&
         a.passwords.size() == b.passwords.size() && MayTheSame(a, b) &&
         IsTheSame(a.read_keys, b.read_keys) && IsTheSame(a.written_keys, b.written_keys) &&
         IsTheSame(a.channels, b.channels) && IsTheSame(a.owners, b.owners);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const UsersRead read = Read({reinterpret_cast<const char*>(data), size});
  assert((read.users == nullptr) == !read.error.empty());
  if (read.users == nullptr) {
    assert(read.error.starts_with("line "));
    return 0;
  }
  const UsersRead again = Read(Describe(*read.users));
  assert(again.error.empty());
  for (const auto& [name, user] : read.users->users()) {
    assert(again.users->Find(name) != nullptr && IsTheSame(user, *again.users->Find(name)));
    (void)user.IsUnlimited();
    (void)user.MayUse(name, KeyUse::kWrite);
  }
  assert(again.users->users().size() == read.users->users().size());
  return 0;
}
