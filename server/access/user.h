// Who a client may be, and what it may do then.
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

// A password as it is known: either its SHA-256, or a slow hash.
struct StoredPassword {
  std::string rule;              // that gives it: "#5e88..." or "$y$..."
  std::optional<Digest> digest;  // none: a slow hash
};

// Texts that match one of several globs, or all texts.
class Globs {
 public:
  // Longer texts match no glob but the one for all: no key, owner or channel is that long.
  static constexpr std::size_t kTextBytesMax = engine::kOwnerBytesMax;

  // `is_all`: until something is added.
  explicit Globs(bool is_all) : is_all_(is_all) {}

  bool is_all() const { return is_all_; }
  bool Match(std::string_view text) const {
    std::uint64_t compared = 0;
    return Match(text, compared);
  }
  // The same; adds how many bytes it compared.
  bool Match(std::string_view text, std::uint64_t& compared) const;
  // One of the globs is exactly this one.
  bool Have(std::string_view glob) const;
  const std::vector<std::string>& globs() const { return globs_; }

  // The first one ends what was so from the beginning. False: all is allowed by a rule before.
  [[nodiscard]] bool Add(std::string_view glob);
  void SetAll();
  void SetNone();

 private:
  bool is_all_;
  bool is_given_ = false;  // by a rule
  std::vector<std::string> globs_;
  std::vector<engine::Glob> parsed_;  // the same
};

enum class KeyUse : std::uint8_t { kRead, kWrite };

struct User {
  std::string name;
  bool is_on = false;
  bool needs_no_password = false;
  std::vector<StoredPassword> passwords = {};

  CommandSet commands = {};
  std::vector<std::string> command_rules = {};  // that have led to them: "+@lock"
  Globs read_keys{false};
  Globs written_keys{false};
  Globs channels{true};
  Globs owners{true};

  // To write is also to learn what is there, so it takes both.
  bool MayUse(std::string_view key, KeyUse use) const {
    std::uint64_t compared = 0;
    return MayUse(key, use, compared);
  }
  // The same; adds how many bytes were compared.
  bool MayUse(std::string_view key, KeyUse use, std::uint64_t& compared) const;
  // Nothing that a client may ask for is refused to it.
  bool IsUnlimited() const;
};

// Whether a name can be a user's: 1 to 128 visible characters, no blank, no ( at the beginning.
bool IsUserName(std::string_view name);

// Who may everything and needs no password.
User UnlimitedUser(std::string_view name);

}  // namespace fairlock::access
