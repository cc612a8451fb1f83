// Rules for keys that match a glob.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/api/glob.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

// A rule has a `pattern`, a glob for keys of any database; the first rule that matches applies.
// Find is O(rules): it matches the key against the pattern of each.
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

// How long the places of SET NX, which has no KEEP option, are kept after their requests.
struct KeepRule {
  std::string pattern;
  DurationMs keep_ms = 0;  // 0: no place
};

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

// Whether the text may be a label: true for 1 to 64 of A-Z a-z 0-9 _ . : -
bool IsLabel(std::string_view text);

// The label of requests that give none.
struct LabelRule {
  std::string pattern;
  std::string label;
};

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
