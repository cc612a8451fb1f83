#include "server/command/pubsub/event_publisher.h"

#include <algorithm>
#include <numeric>

#include "server/command/environment/clock.h"
#include "server/command/locks/lock_message.h"
#include "server/command/locks/locks.h"

namespace fairlock::command {

namespace {

// The name of an event in Redis, and the class that enables the event. An empty name means that
// Redis has no such event.
struct KeyEvent {
  std::string_view word;
  KeyEventClasses classes = 0;
};

constexpr KeyEvent kSet{"set", kStringEvents};
constexpr KeyEvent kExpire{"expire", kGenericEvents};
constexpr KeyEvent kDel{"del", kGenericEvents};
constexpr KeyEvent kExpired{"expired", kExpiredEvents};

KeyEvent KeyEventOf(const engine::Event& event) {
  switch (event.kind) {
    case engine::EventKind::kGranted:
    case engine::EventKind::kTransferred:
      return kSet;
    case engine::EventKind::kRenewed:
    case engine::EventKind::kLeaving:
      return kExpire;
    case engine::EventKind::kReleased:
    case engine::EventKind::kDisconnected:
    case engine::EventKind::kBroken:
    case engine::EventKind::kUndone:
      return kDel;
    case engine::EventKind::kExpired:
      return kExpired;
    case engine::EventKind::kVacated:
      return event.is_by_time ? kExpired : kDel;
    default:
      return {};
  }
}

}  // namespace

EventPublisher::EventPublisher(Locks& locks, Channels& channels, HeldMessages& messages,
                               const Clock& clock)
    : locks_(locks), channels_(channels), messages_(messages), clock_(clock) {
  channels.AddObserver(*this);
}

bool EventPublisher::MayBeOf(Family family, std::string_view name, ChannelKind kind) {
  if (kind == ChannelKind::kShard) return false;
  const std::string_view prefix = kPrefixes[family];
  if (kind == ChannelKind::kExact) return name.starts_with(prefix);
  // The literal beginning of the name, if it is a pattern.
  const std::string_view head = name.substr(0, name.find_first_of("*?[\\"));
  return head.substr(0, prefix.size()) == prefix.substr(0, head.size());
}

void EventPublisher::NoticeFirstSubscriber(std::string_view name, ChannelKind kind) {
  const bool was_deaf = std::accumulate(listeners_.begin(), listeners_.end(), std::size_t{0}) == 0;
  bool is_deaf = was_deaf;
  for (const Family family : {kLock, kKeySpace, kKeyEvent}) {
    if (!MayBeOf(family, name, kind)) continue;
    ++listeners_[family];
    is_deaf = false;
  }
  if (was_deaf && !is_deaf) locks_.AddEventSink(*this);
}

void EventPublisher::NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) {
  bool was_listener = false;
  for (const Family family : {kLock, kKeySpace, kKeyEvent}) {
    if (!MayBeOf(family, name, kind)) continue;
    --listeners_[family];
    was_listener = true;
  }
  const bool is_deaf = std::accumulate(listeners_.begin(), listeners_.end(), std::size_t{0}) == 0;
  if (was_listener && is_deaf) locks_.DropEventSink(*this);
}

void EventPublisher::Take(const engine::Event& event) {
  if (event.kind != engine::EventKind::kVacated) PublishLockEvent(event);
  if (listeners_[kKeySpace] == 0 && listeners_[kKeyEvent] == 0) return;
  const KeyEvent key_event = KeyEventOf(event);
  if ((key_events_ & key_event.classes) != 0) {
    PublishKeyEvent(event.key, key_event.word, key_events_);
  }
}

void EventPublisher::PublishValueEvent(const engine::KeyName& key, std::string_view word,
                                       KeyEventClasses classes) {
  if (listeners_[kKeySpace] == 0 && listeners_[kKeyEvent] == 0) return;
  if ((key_events_ & classes) != 0) PublishKeyEvent(key, word, key_events_);
}

void EventPublisher::PublishLockEvent(const engine::Event& event) {
  if (listeners_[kLock] == 0) return;
  const std::string& channel = NameChannel(kLock, event.key.db, event.key.bytes);
  if (!HasListener(channel)) return;
  message_.clear();
  AppendLockMessage(message_, {.event = EventName(event.kind),
                               .key = event.key,
                               .owner = event.owner,
                               .token = event.token,
                               .at_unix_ms = clock_.UnixTimeUs() / 1000,
                               .waited_ms = event.waited_ms,
                               .held_ms = event.held_ms,
                               .grace_ms = event.grace_ms,
                               .reason = EventReason(event.kind, event.reason)});
  messages_.Publish(channel, message_);
}

void EventPublisher::PublishKeyEvent(const engine::KeyName& key, std::string_view word,
                                     KeyEventClasses classes) {
  if ((classes & kToKeySpace) != 0 && listeners_[kKeySpace] > 0) {
    const std::string& channel = NameChannel(kKeySpace, key.db, key.bytes);
    if (HasListener(channel)) messages_.Publish(channel, word);
  }
  if ((classes & kToKeyEvent) != 0 && listeners_[kKeyEvent] > 0) {
    const std::string& channel = NameChannel(kKeyEvent, key.db, word);
    if (HasListener(channel)) messages_.Publish(channel, key.bytes);
  }
}

const std::string& EventPublisher::NameChannel(Family family, std::uint8_t db,
                                               std::string_view rest) {
  channel_.assign(kPrefixes[family]);
  channel_.append(std::to_string(db)).append("__:").append(rest);
  return channel_;
}

}  // namespace fairlock::command
