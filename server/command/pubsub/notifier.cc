#include "server/command/pubsub/notifier.h"

#include <utility>

#include "server/command/environment/clock.h"
#include "server/command/locks/lock_message.h"
#include "server/command/locks/locks.h"

namespace fairlock::command {

using engine::ResolutionKind;

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

Notifier::Notifier(Locks& locks, Channels& channels, HeldMessages& messages, const Clock& clock)
    : locks_(locks), channels_(channels), messages_(messages), clock_(clock) {
  channels.AddObserver(*this);
}

void Notifier::Take(const engine::Notice& notice) {
  const bool is_lost = notice.loss.has_value();
  message_.clear();
  AppendLockMessage(message_,
                    {.event = is_lost ? std::string_view("lost") : OutcomeName(notice.outcome),
                     .key = notice.key,
                     .owner = notice.owner,
                     .token = notice.token,
                     .at_unix_ms = clock_.UnixTimeUs() / 1000,
                     .waited_ms = notice.waited_ms,
                     .held_ms = notice.held_ms,
                     .reason = is_lost ? EventName(*notice.loss) : OutcomeReason(notice.outcome),
                     .keys = notice.keys});
  const bool is_grant = !is_lost && notice.outcome == ResolutionKind::kGranted;
  messages_.Notify(notice.channel, message_,
                   {notice.key_hash, is_grant ? notice.token : engine::Token{0}});
}

void Notifier::NoticeFirstSubscriber(std::string_view name, ChannelKind kind) {
  NoteChange(name, kind);
}

void Notifier::NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) {
  NoteChange(name, kind);
}

void Notifier::NoteChange(std::string_view name, ChannelKind kind) {
  if (kind == ChannelKind::kPattern || !locks_.engine().channels().Knows(name)) return;
  changed_.emplace_back(name);
}

void Notifier::FollowRestore(engine::TimeMs now) {
  for (const ChannelKind kind : {ChannelKind::kExact, ChannelKind::kShard}) {
    channels_.VisitNames(kind, [this, kind](std::string_view name) {
      NoteChange(name, kind);
      return true;
    });
  }
  FollowSubscribers(now);
}

void Notifier::FollowSubscribers(engine::TimeMs now) {
  if (changed_.empty()) return;
  for (const std::string& name : std::exchange(changed_, {})) {
    if (channels_.CountNotified(name) > 0) {
      locks_.engine().channels().Open(name, locks_.StepAt(now));
    } else {
      locks_.engine().channels().Close(name, locks_.StepAt(now));
    }
  }
}

}  // namespace fairlock::command
