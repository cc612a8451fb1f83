// Publishes lock events on the channels that are named after the locks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/command/pubsub/channels.h"
#include "server/command/pubsub/held_messages.h"
#include "server/command/pubsub/key_events.h"
#include "server/engine/api/event.h"

namespace fairlock::command {

class Clock;
class Locks;

// __lock@<db>__:KEY carries one JSON object per event; __keyspace@<db>__:KEY and
// __keyevent@<db>__:EVENT carry what Redis would publish.
//
// Listens to the engine only while a subscription may match one of these names. Builds a message
// only for a channel that has a listener. Loop-confined.
class EventPublisher final : public engine::EventSink, public ChannelObserver {
 public:
  EventPublisher(Locks& locks, Channels& channels, HeldMessages& messages, const Clock& clock);

  void Take(const engine::Event& event) override;
  // Publishes an event on the channel of the lock only.
  void PublishLockEvent(const engine::Event& event);
  // Publishes an event of a small value, if its class is selected.
  void PublishValueEvent(const engine::KeyName& key, std::string_view word,
                         KeyEventClasses classes);
  void NoticeFirstSubscriber(std::string_view name, ChannelKind kind) override;
  void NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) override;

  // Selects the events that the Redis channels carry.
  void set_key_events(KeyEventClasses classes) { key_events_ = classes; }
  KeyEventClasses key_events() const { return key_events_; }

 private:
  enum Family : std::uint8_t { kLock, kKeySpace, kKeyEvent, kFamilies };

  static constexpr std::array<std::string_view, kFamilies> kPrefixes = {
      kLockChannelPrefix, "__keyspace@", "__keyevent@"};

  static bool MayBeOf(Family family, std::string_view name, ChannelKind kind);
  // Builds the name from the family, the database and `rest`. The result is valid until the next
  // call.
  const std::string& NameChannel(Family family, std::uint8_t db, std::string_view rest);
  bool HasListener(const std::string& channel) {
    return channels_.MayHaveListener(channel, messages_.bytes());
  }
  void PublishKeyEvent(const engine::KeyName& key, std::string_view word, KeyEventClasses classes);

  Locks& locks_;
  Channels& channels_;
  HeldMessages& messages_;
  const Clock& clock_;
  KeyEventClasses key_events_ = kToKeySpace | kToKeyEvent | kAllEvents;
  // How many subscribed names are, or may match, a channel of each family.
  std::array<std::size_t, kFamilies> listeners_{};
  std::string channel_;  // scratch space
  std::string message_;  // scratch space
};

}  // namespace fairlock::command
