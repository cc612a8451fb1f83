// Announces the outcomes of requests and the losses of holds on the channels of NOTIFY.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/command/pubsub/channels.h"
#include "server/command/pubsub/held_messages.h"
#include "server/engine/api/event.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Clock;
class Locks;

// Makes messages from the engine's notices, and tells the engine which of its channels have a
// subscriber. A client that listens by a pattern does not count, because it is not waiting for one
// particular lock. Loop-confined.
class Notifier final : public engine::NoticeSink, public ChannelObserver {
 public:
  Notifier(Locks& locks, Channels& channels, HeldMessages& messages, const Clock& clock);

  void Take(const engine::Notice& notice) override;
  void NoticeFirstSubscriber(std::string_view name, ChannelKind kind) override;
  void NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) override;

  // Whether channels that the engine knows have gained their first or lost their last subscriber.
  bool has_changes() const { return !changed_.empty(); }
  void FollowSubscribers(engine::TimeMs now);
  // Call this once after the locks were restored: clients may have subscribed before.
  void FollowRestore(engine::TimeMs now);

 private:
  void NoteChange(std::string_view name, ChannelKind kind);

  Locks& locks_;
  Channels& channels_;
  HeldMessages& messages_;
  const Clock& clock_;
  std::vector<std::string> changed_;
  std::string message_;  // scratch space
};

}  // namespace fairlock::command
