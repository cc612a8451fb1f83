// Holds: each grant gets a token higher than all before it. A hold ends when its owner releases it,
// its lease ends, the connection of its session closes, or an operator breaks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/rules/events.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Holds : Rule {
 public:
  using Rule::Rule;

  Token NextToken();
  Hold* Find(LockEntry& lock, std::string_view owner, std::optional<Token> token) const;
  static const Hold* FindToken(const LockEntry& lock, Token token);
  void Start(Hold& hold, Token token, TimeMs lease_end, TimeMs now);
  // With SESSION, the hold is bound to `to`, unless that is null.
  void Add(Claim& claim, Token token, Attachment* to, TimeMs now);
  void End(std::uint64_t hash, LockEntry& lock, Hold& hold, HoldEnd end, TimeMs now);
  static TimeMs LeaseEndOf(const Hold& hold);
  void SetLeaseEnd(ContendedLock& contended, Claim& hold, TimeMs end);
  void Bind(Claim& hold, Attachment& to);
  void Unbind(Claim& hold);
  // Call this when the owner is known to have learned of the grant, which can then no longer be
  // undone.
  static void Confirm(Claim& hold);

 private:
  void CountEnd(HoldEnd end, RecentKey& recent);
};

// MINHOLD: a hold that ends before its MINHOLD is over leaves a cooldown, which occupies the slot
// until the MINHOLD is over. BREAK, a transfer and an undone grant leave no cooldown.
class Cooldowns {
 public:
  static void Begin(EngineState& state, const Claim& claim, HoldEnd end, TimeMs now);
  static void End(EngineState& state, Cooldown& cooldown);
};

}  // namespace fairlock::engine
