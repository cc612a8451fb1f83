// The small values, the requests that wait for elements, and the consequences of each change.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/command/locks/locks.h"
#include "server/command/pubsub/event_publisher.h"
#include "server/command/pubsub/key_events.h"
#include "server/command/transactions/transactions.h"
#include "server/engine/api/types.h"
#include "server/values/list_waiters.h"
#include "server/values/value_limits.h"
#include "server/values/value_store.h"

namespace fairlock::command {

// Loop-confined.
class Values final : private values::ValueListener {
 public:
  Values(Locks& locks, WatchedKeys& watched_keys, EventPublisher& events);
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  values::ValueStore& store() { return store_; }
  const values::ValueStore& store() const { return store_; }
  values::ListWaiters& waiters() { return waiters_; }
  const values::ListWaiters& waiters() const { return waiters_; }
  values::ValueLimits& limits() { return limits_; }

  // The value with that key, or null.
  values::Value* Find(const engine::KeyName& key, engine::TimeMs now) {
    return store_.Find(key, now);
  }
  // Whether the key is that of a lock: it is held, or others wait for it.
  bool IsLock(const engine::KeyName& key, engine::TimeMs now);

  // Must be called after a command has changed a value. Publishes the event, and removes a value
  // without elements.
  void NoticeChange(values::Value& value, std::string_view event, KeyEventClasses classes);
  // The same for a command that erases all elements of a value, and leaves the work to the store,
  // which does it in steps.
  void NoticeEnd(values::Value& value, std::string_view event, KeyEventClasses classes);
  // Removes the value and publishes the event `del`.
  void Delete(values::Value& value);
  // Publishes an event of the class `g` about a value.
  void PublishGeneric(const values::Value& value, std::string_view event);

 private:
  void OnChange(const engine::KeyName& key) override;
  void OnExpiry(const engine::KeyName& key) override;

  Locks& locks_;
  WatchedKeys& watched_keys_;
  EventPublisher& events_;
  values::ValueStore store_;
  values::ListWaiters waiters_;
  values::ValueLimits limits_;
};

}  // namespace fairlock::command
