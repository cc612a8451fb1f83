// The syntax of labels, and the labels for requests that give none.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/api/key_rules.h"

namespace fairlock::engine {

// True for 1 to 64 of A-Z a-z 0-9 _ . : -
bool IsLabel(std::string_view text);

struct LabelRule {
  std::string pattern;
  std::string label;
};

// Loop-confined.
class LabelRules {
 public:
  bool empty() const { return rules_.empty(); }
  void Set(std::vector<LabelRule> rules) { rules_.Set(std::move(rules)); }
  // Empty if no rule matches. Valid until the rules are set again.
  std::string_view LabelOf(std::string_view key) const {
    const LabelRule* rule = rules_.Find(key);
    return rule == nullptr ? std::string_view() : std::string_view(rule->label);
  }

 private:
  KeyRules<LabelRule> rules_;
};

}  // namespace fairlock::engine
