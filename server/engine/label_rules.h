// Labels for the requests that give none.
#pragma once

#include <string>
#include <string_view>

#include "server/engine/key_rules.h"

namespace fairlock::engine {

struct LabelRule {
  std::string pattern;
  std::string label;
};

class LabelRules : public KeyRules<LabelRule> {
 public:
  // Empty: no rule matches. Valid until the rules are set.
  std::string_view LabelOf(std::string_view key) const {
    const LabelRule* rule = Find(key);
    return rule == nullptr ? std::string_view() : std::string_view(rule->label);
  }
};

}  // namespace fairlock::engine
