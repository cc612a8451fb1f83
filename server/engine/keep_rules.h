// How long the places outlive the requests that cannot say it themselves: those of SET NX.
#pragma once

#include <string>
#include <string_view>

#include "server/engine/key_rules.h"
#include "server/engine/types.h"

namespace fairlock::engine {

struct KeepRule {
  std::string pattern;
  DurationMs keep_ms = 0;  // 0: they take none
};

class KeepRules : public KeyRules<KeepRule> {
 public:
  // 0: no rule matches.
  DurationMs KeepOf(std::string_view key) const {
    const KeepRule* rule = Find(key);
    return rule == nullptr ? 0 : rule->keep_ms;
  }
};

}  // namespace fairlock::engine
