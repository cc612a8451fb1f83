#include "server/command/notifier.h"

#include <utility>

#include "server/command/dispatcher.h"
#include "server/command/lock_message.h"
#include "server/command/text.h"

namespace fairlock::command {

using engine::ResolutionKind;
using protocol::ErrorCode;

namespace {

std::string_view OutcomeName(ResolutionKind outcome) {
  switch (outcome) {
    case ResolutionKind::kGranted:
      return "granted";
    case ResolutionKind::kTimedOut:
      return "timeout";
    case ResolutionKind::kSuperseded:
      return "superseded";
    default:
      return "cancelled";
  }
}

std::string_view OutcomeReason(ResolutionKind outcome) {
  switch (outcome) {
    case ResolutionKind::kReplaced:
      return "replaced";
    case ResolutionKind::kDeadlock:
      return "deadlock";
    default:
      return {};
  }
}

}  // namespace

Notifier::Notifier(Dispatcher& dispatcher) : dispatcher_(dispatcher) {
  dispatcher.channels().AddObserver(*this);
}

void Notifier::Take(const engine::Notice& notice) {
  const bool is_lost = notice.loss.has_value();
  message_.clear();
  AppendLockMessage(message_,
                    {.event = is_lost ? std::string_view("lost") : OutcomeName(notice.outcome),
                     .key = notice.key,
                     .owner = notice.owner,
                     .token = notice.token,
                     .at_unix_ms = dispatcher_.environment().clock.UnixTimeUs() / 1000,
                     .waited_ms = notice.waited_ms,
                     .held_ms = notice.held_ms,
                     .reason = is_lost ? EventName(*notice.loss) : OutcomeReason(notice.outcome),
                     .keys = notice.keys});
  const bool is_grant = !is_lost && notice.outcome == ResolutionKind::kGranted;
  dispatcher_.channels().PublishLater(
      notice.channel, message_, {notice.key_hash, is_grant ? notice.token : engine::Token{0}});
}

void Notifier::NoticeFirstSubscriber(std::string_view name, ChannelKind kind) {
  NoteChange(name, kind);
}

void Notifier::NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) {
  NoteChange(name, kind);
}

void Notifier::NoteChange(std::string_view name, ChannelKind kind) {
  if (kind != ChannelKind::kExact || !dispatcher_.engine().KnowsChannel(name)) return;
  changed_.emplace_back(name);
}

void Notifier::FollowSubscribers(engine::TimeMs now) {
  if (changed_.empty()) return;
  for (const std::string& name : std::exchange(changed_, {})) {
    if (dispatcher_.channels().CountSubscribers(name) > 0) {
      dispatcher_.engine().OpenChannel(name, now, dispatcher_.effects());
    } else {
      dispatcher_.engine().CloseChannel(name, now, dispatcher_.effects());
    }
  }
}

bool CheckNotify(Invocation& call, const engine::LockRequest& request) {
  if (!request.notify) return true;
  const std::string_view channel = *request.notify;
  std::string problem;
  if (call.dispatcher.is_in_step()) {
    problem = "is not possible inside EXEC or a script; send the LOCK by itself";
  } else if (channel.empty() || channel.starts_with(kOwnChannelPrefix)) {
    problem =
        "channel " + Quoted(channel, 128) +
        " is empty or begins with '__', under which only the server publishes; choose another "
        "name";
  } else if (call.dispatcher.channels().CountSubscribers(channel) == 0) {
    problem = "channel " + Quoted(channel, 128) +
              " has no subscriber; SUBSCRIBE to it first, on any connection";
  } else {
    return true;
  }
  call.reply.Error(ErrorCode::kErr, "NOTIFY: " + problem);
  return false;
}

}  // namespace fairlock::command
