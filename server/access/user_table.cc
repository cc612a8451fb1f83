#include "server/access/user_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "server/access/slow_hash.h"
#include "server/access/user_rules.h"

namespace fairlock::access {

namespace {

constexpr std::size_t kFileBytesMax = 4 * 1024 * 1024;
constexpr std::size_t kUsersMax = 10'000;

std::vector<std::string_view> WordsOf(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

// Returns an empty string on success.
std::string ReadLine(std::string_view line, const Vocabulary& vocabulary, UserTable& table) {
  const std::vector<std::string_view> words = WordsOf(line);
  if (words.empty() || words.front().starts_with('#')) return "";
  const bool has_only_text = std::all_of(
      line.begin(), line.end(), [](char c) { return c == '\t' || c == '\r' || c < 0 || c >= ' '; });
  if (!has_only_text) return "control characters are not allowed";
  if (words.front() != "user" || words.size() < 2) {
    return "a line must be `user NAME RULE...` or a comment that starts with #";
  }
  if (!IsUserName(words[1])) {
    return "a user name must have 1 to 128 visible ASCII characters and not start with (";
  }
  if (table.users().size() == kUsersMax) return "at most 10000 users are allowed";
  User user{.name = std::string(words[1])};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string wrong = ApplyRule(words[i], vocabulary, user);
    if (!wrong.empty()) return "user " + user.name + ": " + wrong;
  }
  const std::string name = user.name;
  return table.Add(std::move(user)) ? "" : "user " + name + " is already defined";
}

std::string ReadText(std::string_view text, const Vocabulary& vocabulary, UserTable& table) {
  if (text.size() > kFileBytesMax) {
    return "must have at most " + std::to_string(kFileBytesMax) + " bytes, has " +
           std::to_string(text.size());
  }
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string wrong = ReadLine(text.substr(0, end), vocabulary, table);
    if (!wrong.empty()) return "line " + std::to_string(number) + ": " + wrong;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return "";
}

// Returns the rule that adds the password. A hash is itself a rule; a plain password needs the
// prefix >.
std::string RuleFor(const std::string& password) {
  const bool is_digest = password.starts_with('#') && ParseDigest(password.substr(1));
  return is_digest || BeginsAsSlowHash(password) ? password : ">" + password;
}

}  // namespace

const User* UserTable::Find(std::string_view name) const {
  const auto found = users_.find(name);
  return found == users_.end() ? nullptr : &found->second;
}

bool UserTable::Add(User user) {
  for (const StoredPassword& password : user.passwords) {
    if (!password.digest && decoy_.empty()) decoy_ = password.rule;
  }
  std::string name = user.name;
  return users_.emplace(std::move(name), std::move(user)).second;
}

bool UserTable::IsOpen() const {
  return std::any_of(users_.begin(), users_.end(), [](const auto& entry) {
    return entry.second.is_on && entry.second.needs_no_password;
  });
}

UsersRead ReadUsers(const UserSource& source, const Vocabulary& vocabulary) {
  auto table = std::make_shared<UserTable>();
  if (source.acl_text) {
    std::string wrong = ReadText(*source.acl_text, vocabulary, *table);
    if (!wrong.empty()) return {.users = nullptr, .error = std::move(wrong)};
  }
  if (!source.default_password.empty()) {
    User user = UnlimitedUser(kDefaultUser);
    std::string wrong = ApplyRule(RuleFor(source.default_password), vocabulary, user);
    if (!wrong.empty()) return {.users = nullptr, .error = "requirepass: " + wrong};
    if (!table->Add(std::move(user))) {
      return {.users = nullptr,
              .error =
                  "defines the default user, whose password is also set by requirepass; use only "
                  "one of the two"};
    }
  } else if (!source.acl_text) {
    table->Add(UnlimitedUser(kDefaultUser));
  }
  return {.users = std::move(table), .error = ""};
}

}  // namespace fairlock::access
