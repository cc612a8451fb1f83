// Labels for the requests that give none.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/glob.h"

namespace fairlock::engine {

struct LabelRule {
  std::string pattern;  // glob of keys, of any database
  std::string label;
};

// The first rule whose pattern matches the key gives the label. Loop-confined. Find is O(rules),
// each of which costs a match of its pattern.
class LabelRules {
 public:
  bool empty() const { return rules_.empty(); }
  void Set(std::vector<LabelRule> rules) { rules_ = std::move(rules); }
  // Empty: no rule matches. Valid until the rules are set.
  std::string_view Find(std::string_view key) const {
    for (const LabelRule& rule : rules_) {
      if (MatchesGlob(rule.pattern, key)) return rule.label;
    }
    return {};
  }

 private:
  std::vector<LabelRule> rules_;
};

}  // namespace fairlock::engine
