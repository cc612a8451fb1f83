#include "server/command/delivery/effect_delivery.h"

#include <cassert>
#include <cstddef>
#include <utility>

namespace fairlock::command {

void EffectDelivery::BeginStep(engine::TimeMs now) {
  if (step_depth_++ == 0) locks_.engine().BeginTransaction(now);
}

void EffectDelivery::EndStep(engine::TimeMs now) {
  assert(is_in_step());
  if (--step_depth_ == 0) locks_.engine().EndTransaction(locks_.StepAt(now));
}

void EffectDelivery::Deliver(engine::TimeMs now) {
  if (is_in_step()) return;
  notifier_.FollowSubscribers(now);
  DeliverOnce(now);
  while (!undelivered_.empty()) {
    for (const DeliveredGrant& grant : std::exchange(undelivered_, {})) {
      locks_.engine().sessions().UndoGrant(grant.key_hash, grant.token, locks_.StepAt(now));
    }
    DeliverOnce(now);
  }
}

void EffectDelivery::DeliverOnce(engine::TimeMs now) {
  engine::Effects& effects = locks_.effects();
  // Loops by index, because explaining a reply may settle a key, which appends to the list.
  for (std::size_t i = 0; i < effects.resolutions.size(); ++i) {
    const engine::Resolution resolution = effects.resolutions[i];
    replies_.Resolve(*static_cast<Client*>(resolution.to), resolution, now);
  }
  effects.resolutions.clear();
  lists_.Serve(now);
  if (!messages_.is_empty() && !is_executing_) messages_.Send(undelivered_);
}

}  // namespace fairlock::command
