// Delivers what the engine's steps have caused: replies to requests that waited, and messages.
#pragma once

#include <vector>

#include "server/command/delivery/awaited_replies.h"
#include "server/command/locks/locks.h"
#include "server/command/pubsub/channels.h"
#include "server/command/pubsub/notifier.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Replies come before messages, so that nobody reads of a grant before its reply was written.
// Loop-confined.
class EffectDelivery {
 public:
  EffectDelivery(Locks& locks, Channels& channels, Notifier& notifier, AwaitedReplies& replies)
      : locks_(locks), channels_(channels), notifier_(notifier), replies_(replies) {}

  // Between BeginStep and EndStep handlers act as one step, as EXEC and scripts do: no request
  // waits, no grant of the step is undone, and hand-overs, replies to others and messages come
  // after its end. Steps may be nested.
  void BeginStep(engine::TimeMs now);
  void EndStep(engine::TimeMs now);
  bool is_in_step() const { return step_depth_ > 0; }

  // While a handler runs no messages are sent, so that they come after its reply.
  void set_executing(bool is_executing) { is_executing_ = is_executing; }
  // Whether the request that was just executed has caused anything to deliver.
  bool has_effects() const {
    return !locks_.effects().resolutions.empty() || channels_.has_waiting() ||
           notifier_.has_changes();
  }
  // Without effect inside a step.
  void Deliver(engine::TimeMs now);

 private:
  void DeliverOnce(engine::TimeMs now);

  Locks& locks_;
  Channels& channels_;
  Notifier& notifier_;
  AwaitedReplies& replies_;
  std::vector<DeliveredGrant> undelivered_;  // scratch of Deliver
  int step_depth_ = 0;
  bool is_executing_ = false;
};

}  // namespace fairlock::command
