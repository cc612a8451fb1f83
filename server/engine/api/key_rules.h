// Rules for keys that match a glob.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/api/glob.h"

namespace fairlock::engine {

// A rule has a `pattern`, a glob for keys of any database; the first rule that matches applies.
// Loop-confined. Find is O(rules): it matches the key against the pattern of each.
template <typename Rule>
class KeyRules {
 public:
  bool empty() const { return rules_.empty(); }
  void Set(std::vector<Rule> rules) {
    rules_ = std::move(rules);
    globs_.clear();
    for (const Rule& rule : rules_) globs_.emplace_back(rule.pattern);
  }
  // Null: no rule matches. Valid until the rules are set again.
  const Rule* Find(std::string_view key) const {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (globs_[i].Matches(key)) return &rules_[i];
    }
    return nullptr;
  }

 private:
  std::vector<Rule> rules_;
  std::vector<Glob> globs_;  // the parsed patterns of the rules, in the same order
};

}  // namespace fairlock::engine
