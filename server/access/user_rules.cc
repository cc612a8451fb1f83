#include "server/access/user_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/access/slow_hash.h"

namespace fairlock::access {

namespace {

// A rule contains its pattern, so this also keeps patterns within the limit for patterns in
// requests.
constexpr std::size_t kRuleBytesMax = engine::kGlobBytesMax;
constexpr std::size_t kRulesOfAKindMax = 1000;

void AllowAll(User& user) {
  user.commands.set();
  user.command_rules = {"+@all"};
}

void AllowNone(User& user) {
  user.commands.reset();
  user.command_rules.clear();
}

void SetKeys(User& user, bool are_all) {
  for (Globs* globs : {&user.read_keys, &user.written_keys}) {
    are_all ? globs->SetAll() : globs->SetNone();
  }
}

struct Word {
  std::string_view word;
  void (*apply)(User&);
};

constexpr auto kWords = std::to_array<Word>({
    {"on", [](User& user) { user.is_on = true; }},
    {"off", [](User& user) { user.is_on = false; }},
    {"nopass",
     [](User& user) {
       user.needs_no_password = true;
       user.passwords.clear();
     }},
    {"resetpass",
     [](User& user) {
       user.needs_no_password = false;
       user.passwords.clear();
     }},
    {"allkeys", [](User& user) { SetKeys(user, true); }},
    {"resetkeys", [](User& user) { SetKeys(user, false); }},
    {"allchannels", [](User& user) { user.channels.SetAll(); }},
    {"resetchannels", [](User& user) { user.channels.SetNone(); }},
    {"allowners", [](User& user) { user.owners.SetAll(); }},
    {"resetowners", [](User& user) { user.owners.SetNone(); }},
    {"allcommands", AllowAll},
    {"nocommands", AllowNone},
    {"reset", [](User& user) { user = User{.name = user.name}; }},
    // Redis writes these to its files; they have no effect here because there are no values to
    // check.
    {"sanitize-payload", [](User&) {}},
    {"skip-sanitize-payload", [](User&) {}},
});

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lowered;
}

std::string Wrong(std::string_view rule, std::string_view why) {
  constexpr std::size_t kShown = 64;
  return "'" + std::string(rule.substr(0, kShown)) + "': " + std::string(why);
}

std::string TooMany() {
  return "a user may have at most " + std::to_string(kRulesOfAKindMax) + " rules of this kind";
}

std::string AddPassword(StoredPassword password, User& user) {
  user.needs_no_password = false;
  if (user.passwords.size() == kRulesOfAKindMax) {
    return "a user may have at most " + std::to_string(kRulesOfAKindMax) + " passwords";
  }
  const bool is_there =
      std::any_of(user.passwords.begin(), user.passwords.end(),
                  [&](const StoredPassword& other) { return other.rule == password.rule; });
  if (!is_there) user.passwords.push_back(std::move(password));
  return "";
}

std::string ApplyDigest(std::string_view rule, User& user) {
  const auto digest = ParseDigest(rule.substr(1));
  if (!digest) return "# must be followed by the 64 hexadecimal digits of a SHA-256 digest";
  return AddPassword({.rule = "#" + HexOf(*digest), .digest = digest}, user);
}

std::string ApplyPassword(std::string_view rule, User& user) {
  if (rule.size() == 1)
    return "> must be followed by a password; nopass allows log-ins without one";
  const Digest digest = DigestOf(rule.substr(1));
  return AddPassword({.rule = "#" + HexOf(digest), .digest = digest}, user);
}

std::string ApplySlowHash(std::string_view rule, User& user) {
  if (!IsSlowHash(rule)) {
    return "a rule that starts with $ must be a complete slow hash, as printed by `fairlockd "
           "--hash-password`";
  }
  return AddPassword({.rule = std::string(rule), .digest = std::nullopt}, user);
}

std::string AddGlob(std::string_view rule, std::string_view glob, std::string_view all,
                    std::initializer_list<Globs*> to) {
  if (glob.empty()) return Wrong(rule, "must be followed by a glob");
  for (Globs* globs : to) {
    if (globs->globs().size() == kRulesOfAKindMax) return Wrong(rule, TooMany());
    if (!globs->Add(glob)) {
      return Wrong(
          rule,
          "has no effect, because an earlier rule allows everything; remove it, or put reset" +
              std::string(all) + " before it");
    }
  }
  return "";
}

// Applies ~glob, %R~glob, %W~glob or %RW~glob.
std::string ApplyKeys(std::string_view rule, User& user) {
  const std::size_t at = rule.find('~');
  const std::string uses = Lowered(rule.substr(0, at));
  if (at == std::string_view::npos ||
      (uses != "" && uses != "%r" && uses != "%w" && uses != "%rw" && uses != "%wr")) {
    return Wrong(rule, "a rule for keys must be ~GLOB, %R~GLOB, %W~GLOB or %RW~GLOB");
  }
  const std::string_view glob = rule.substr(at + 1);
  if (uses == "%r") return AddGlob(rule, glob, "keys", {&user.read_keys});
  if (uses == "%w") return AddGlob(rule, glob, "keys", {&user.written_keys});
  return AddGlob(rule, glob, "keys", {&user.read_keys, &user.written_keys});
}

std::string ApplyCommands(std::string_view rule, const Vocabulary& vocabulary, User& user) {
  const std::string name = Lowered(rule.substr(1));
  const bool is_category = name.starts_with('@');
  const CommandSet set =
      is_category ? vocabulary.FindCategory(name.substr(1)) : vocabulary.Find(name);
  if (set.none()) {
    return Wrong(rule, is_category ? "unknown category; ACL CAT lists all categories"
                                   : "unknown command; COMMAND LIST lists all commands");
  }
  const bool is_allowed = rule.front() == '+';
  if (name == "@all") {
    is_allowed ? AllowAll(user) : AllowNone(user);
    return "";
  }
  if (user.command_rules.size() == kRulesOfAKindMax) return Wrong(rule, TooMany());
  user.commands = is_allowed ? user.commands | set : user.commands & ~set;
  user.command_rules.push_back(std::string(1, rule.front()) + name);
  return "";
}

std::string Join(const std::vector<std::string>& parts, std::string_view before) {
  std::string joined;
  for (const std::string& part : parts) {
    if (!joined.empty()) joined += ' ';
    joined.append(before).append(part);
  }
  return joined;
}

std::string DescribeGlobs(const Globs& globs, std::string_view before, std::string_view none) {
  if (globs.is_all()) return std::string(before) + "*";
  if (globs.globs().empty()) return std::string(none);
  return Join(globs.globs(), before);
}

}  // namespace

std::string ApplyRule(std::string_view rule, const Vocabulary& vocabulary, User& user) {
  constexpr std::string_view kOwner = "owner:";
  if (rule.empty() || rule.size() > kRuleBytesMax) {
    return "a rule must have 1 to " + std::to_string(kRuleBytesMax) + " bytes, got " +
           std::to_string(rule.size());
  }
  const std::string word = Lowered(rule);
  for (const Word& row : kWords) {
    if (row.word != word) continue;
    row.apply(user);
    return "";
  }
  switch (rule.front()) {
    case '>':
      return ApplyPassword(rule, user);
    case '#':
      return ApplyDigest(rule, user);
    case '$':
      return ApplySlowHash(rule, user);
    case '~':
    case '%':
      return ApplyKeys(rule, user);
    case '&':
      return AddGlob(rule, rule.substr(1), "channels", {&user.channels});
    case '+':
    case '-':
      return ApplyCommands(rule, vocabulary, user);
    default:
      break;
  }
  if (word.starts_with(kOwner)) {
    return AddGlob(rule, rule.substr(kOwner.size()), "owners", {&user.owners});
  }
  return Wrong(rule,
               "not a rule; the rules are on, off, nopass, >password, #sha256, a slow hash, ~keys, "
               "&channels, owner:owners, +command, -command, +@category and -@category");
}

std::string DescribeCommands(const User& user) {
  std::string text = Join(user.command_rules, "");
  if (text.starts_with("+@all")) return text;
  return text.empty() ? "-@all" : "-@all " + text;
}

std::string DescribeKeys(const User& user) {
  if (user.read_keys.is_all() && user.written_keys.is_all()) return "~*";
  std::vector<std::string> parts;
  if (user.read_keys.is_all()) parts.emplace_back("%R~*");
  for (const std::string& glob : user.read_keys.globs()) {
    parts.push_back((user.written_keys.Have(glob) ? "~" : "%R~") + glob);
  }
  if (user.written_keys.is_all()) parts.emplace_back("%W~*");
  for (const std::string& glob : user.written_keys.globs()) {
    if (!user.read_keys.Have(glob)) parts.push_back("%W~" + glob);
  }
  return Join(parts, "");
}

std::string DescribeChannels(const User& user) {
  return DescribeGlobs(user.channels, "&", "resetchannels");
}

std::string DescribeOwners(const User& user) {
  return DescribeGlobs(user.owners, "owner:", "resetowners");
}

std::string DescribeUser(const User& user) {
  std::string text = "user " + user.name + (user.is_on ? " on" : " off");
  if (user.needs_no_password) text += " nopass";
  for (const StoredPassword& password : user.passwords) text += " " + password.rule;
  for (const std::string& part :
       {DescribeKeys(user), DescribeChannels(user), DescribeOwners(user), DescribeCommands(user)}) {
    if (!part.empty()) text += " " + part;
  }
  return text;
}

}  // namespace fairlock::access
