// How long the places of SET NX, which has no KEEP option, are kept after their requests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/api/key_rules.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

struct KeepRule {
  std::string pattern;
  DurationMs keep_ms = 0;  // 0: no place
};

// Loop-confined.
class KeepRules {
 public:
  void Set(std::vector<KeepRule> rules) { rules_.Set(std::move(rules)); }
  // 0 if no rule matches.
  DurationMs KeepOf(std::string_view key) const {
    const KeepRule* rule = rules_.Find(key);
    return rule == nullptr ? 0 : rule->keep_ms;
  }

 private:
  KeyRules<KeepRule> rules_;
};

}  // namespace fairlock::engine
