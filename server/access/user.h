// A user and what it may do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/digest.h"
#include "server/access/vocabulary.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/types.h"

namespace fairlock::access {

// A stored password: either a SHA-256 digest or a slow hash.
struct StoredPassword {
  std::string rule;              // the ACL rule for it: "#5e88..." or "$y$..."
  std::optional<Digest> digest;  // none if it has a slow hash
};

// A list of globs, or a wildcard that matches everything.
class Globs {
 public:
  // Longer texts match only the wildcard: no key, owner or channel is that long.
  static constexpr std::size_t kTextBytesMax = engine::kOwnerBytesMax;

  // `is_all` says whether everything matches until the first glob is added.
  explicit Globs(bool is_all) : is_all_(is_all) {}

  bool is_all() const { return is_all_; }
  bool Match(std::string_view text) const {
    std::uint64_t compared = 0;
    return Match(text, compared);
  }
  // Also adds the number of compared bytes to `compared`.
  bool Match(std::string_view text, std::uint64_t& compared) const;
  // Whether this exact glob is in the list.
  bool Have(std::string_view glob) const;
  const std::vector<std::string>& globs() const { return globs_; }

  // The first glob replaces the initial state. Returns false if an earlier rule already allows
  // everything.
  [[nodiscard]] bool Add(std::string_view glob);
  void SetAll();
  void SetNone();

 private:
  bool is_all_;
  bool is_given_ = false;  // a rule has set the list
  std::vector<std::string> globs_;
  std::vector<engine::Glob> parsed_;  // globs_ in parsed form
};

enum class KeyUse : std::uint8_t { kRead, kWrite };

struct User {
  std::string name;
  bool is_on = false;
  bool needs_no_password = false;
  std::vector<StoredPassword> passwords = {};

  CommandSet commands = {};
  std::vector<std::string> command_rules = {};  // the rules that led to `commands`: "+@lock"
  Globs read_keys{false};
  Globs written_keys{false};
  Globs channels{true};
  Globs owners{true};

  // A write also reveals the state of the key, so it needs both permissions.
  bool MayUse(std::string_view key, KeyUse use) const {
    std::uint64_t compared = 0;
    return MayUse(key, use, compared);
  }
  // Also adds the number of compared bytes to `compared`.
  bool MayUse(std::string_view key, KeyUse use, std::uint64_t& compared) const;
  // Whether the user may do everything.
  bool IsUnlimited() const;
};

// Whether the text is a valid user name: 1 to 128 visible characters, no space, not starting with
// (.
bool IsUserName(std::string_view name);

// A user that may do everything and needs no password.
User UnlimitedUser(std::string_view name);

}  // namespace fairlock::access
