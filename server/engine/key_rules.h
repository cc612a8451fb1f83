// Rules that say something of keys, by glob.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/glob.h"

namespace fairlock::engine {

// A rule has a `pattern`, a glob of keys of any database; the first one that matches counts.
// Loop-confined. Find is O(rules), each of which costs a match of its pattern.
template <typename Rule>
class KeyRules {
 public:
  bool empty() const { return rules_.empty(); }
  void Set(std::vector<Rule> rules) { rules_ = std::move(rules); }
  // Null: no rule matches. Valid until the rules are set.
  const Rule* Find(std::string_view key) const {
    for (const Rule& rule : rules_) {
      if (MatchesGlob(rule.pattern, key)) return &rule;
    }
    return nullptr;
  }

 private:
  std::vector<Rule> rules_;
};

}  // namespace fairlock::engine
