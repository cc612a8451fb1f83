// Tells on the channels of NOTIFY how requests end and that holds are lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/command/channels.h"
#include "server/command/command_table.h"
#include "server/engine/api/notice.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Dispatcher;

// Makes messages of what the engine tells, and lets the engine know which of its channels have a
// subscriber: one by SUBSCRIBE, for who listens by a pattern is not who waits. Loop-confined.
class Notifier final : public engine::NoticeSink, public ChannelObserver {
 public:
  // Outlived by `dispatcher`, whose channels it uses and observes.
  explicit Notifier(Dispatcher& dispatcher);

  void Take(const engine::Notice& notice) override;
  void NoticeFirstSubscriber(std::string_view name, ChannelKind kind) override;
  void NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) override;

  // Channels that the engine knows have got, or lost, their subscribers.
  bool has_changes() const { return !changed_.empty(); }
  void FollowSubscribers(engine::TimeMs now);

 private:
  void NoteChange(std::string_view name, ChannelKind kind);

  Dispatcher& dispatcher_;
  std::vector<std::string> changed_;
  std::string message_;  // scratch
};

// False: NOTIFY is not possible as the request gives it, and the error is answered.
bool CheckNotify(Invocation& call, const engine::LockRequest& request);

}  // namespace fairlock::command
