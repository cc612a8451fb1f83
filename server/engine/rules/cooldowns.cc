#include "server/engine/rules/cooldowns.h"

namespace fairlock::engine {

void Cooldowns::Begin(const Claim& claim, HoldEnd end, TimeMs now) {
  const bool is_spared =
      end == HoldEnd::kTransferred || end == HoldEnd::kBroken || end == HoldEnd::kUndone;
  if (is_spared || claim.extras == nullptr || claim.extras->cool_until == 0) return;
  // Like every deadline, the end of MINHOLD has passed only when its whole tick has passed.
  if (claim.extras->cool_until < now) return;
  ContendedLock& contended = *claim.lock.contended;
  auto* cooldown = new Cooldown(claim.lock, claim.mode, claim.token, claim.rank());
  contended.slots.Take(cooldown->mode);
  contended.cooldowns.push_back(*cooldown);
  ++state_.counts.cooldowns;
  state_.ScheduleMember(contended, *cooldown, claim.extras->cool_until, TimerClass::kCooling);
  if (state_.changes != nullptr) {
    state_.changes->cooling.push_back({state_.table.HashOf(claim.lock.key()), cooldown->token});
  }
}

void Cooldowns::End(Cooldown& cooldown) {
  ContendedLock& contended = *cooldown.lock.contended;
  if (state_.changes != nullptr && cooldown.is_stored) {
    const KeyName key = cooldown.lock.key();
    state_.changes->NoteEnd(ChangeLog::Kind::kCooling, cooldown.token, key.db, key.bytes);
  }
  state_.wheel.Cancel(cooldown);
  contended.slots.Free(cooldown.mode);
  contended.cooldowns.erase(contended.cooldowns.iterator_to(cooldown));
  --state_.counts.cooldowns;
  delete &cooldown;
}

}  // namespace fairlock::engine
