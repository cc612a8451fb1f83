// Delivers the engine's effects: the replies to waiting requests, and messages.
#pragma once

#include <vector>

#include "server/command/delivery/awaited_replies.h"
#include "server/command/delivery/list_delivery.h"
#include "server/command/locks/locks.h"
#include "server/command/pubsub/held_messages.h"
#include "server/command/pubsub/notifier.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Replies are written before messages, so that no message announces a grant before its reply.
// Loop-confined.
class EffectDelivery {
 public:
  EffectDelivery(Locks& locks, HeldMessages& messages, Notifier& notifier, AwaitedReplies& replies,
                 ListDelivery& lists)
      : locks_(locks), messages_(messages), notifier_(notifier), replies_(replies), lists_(lists) {}

  // Between BeginStep and EndStep, handlers act as one step, as EXEC and scripts require: no
  // request waits, no grant made in the step is undone, and hand-overs, replies to other clients
  // and messages come only after the step has ended. Steps may be nested.
  void BeginStep(engine::TimeMs now);
  void EndStep(engine::TimeMs now);
  bool is_in_step() const { return step_depth_ > 0; }

  // While a handler runs, messages are held back, so that they follow its reply.
  void set_executing(bool is_executing) { is_executing_ = is_executing; }
  // Whether the request just executed has caused anything to deliver.
  bool has_effects() const {
    return !locks_.effects().resolutions.empty() || !messages_.is_empty() ||
           notifier_.has_changes() || lists_.has_ready();
  }
  // Does nothing inside a step.
  void Deliver(engine::TimeMs now);

 private:
  void DeliverOnce(engine::TimeMs now);

  Locks& locks_;
  HeldMessages& messages_;
  Notifier& notifier_;
  AwaitedReplies& replies_;
  ListDelivery& lists_;
  std::vector<DeliveredGrant> undelivered_;  // scratch space for Deliver
  int step_depth_ = 0;
  bool is_executing_ = false;
};

}  // namespace fairlock::command
