#include "server/command/values/values.h"

namespace fairlock::command {

Values::Values(Locks& locks, WatchedKeys& watched_keys, EventPublisher& events)
    : locks_(locks),
      watched_keys_(watched_keys),
      events_(events),
      store_(locks.engine().options().hash_seed) {
  store_.set_listener(this);
}

bool Values::IsLock(const engine::KeyName& key, engine::TimeMs now) {
  const engine::LockInfo info = locks_.engine().inspection().Inspect(key, 0, locks_.StepAt(now));
  return info.holder_count > 0 || info.waiter_count > 0 || info.reserved_count > 0 ||
         info.cooling_ms > 0;
}

void Values::NoticeChange(values::Value& value, std::string_view event, KeyEventClasses classes) {
  events_.PublishValueEvent(value.name(), event, classes);
  if (value.size() == 0) return Delete(value);
  store_.NoticeChange(value);
}

void Values::NoticeEnd(values::Value& value, std::string_view event, KeyEventClasses classes) {
  events_.PublishValueEvent(value.name(), event, classes);
  Delete(value);
}

void Values::Delete(values::Value& value) {
  PublishGeneric(value, "del");
  store_.Remove(value);
}

void Values::PublishGeneric(const values::Value& value, std::string_view event) {
  events_.PublishValueEvent(value.name(), event, kGenericEvents);
}

void Values::OnChange(const engine::KeyName& key) { watched_keys_.CountChange(key.hash); }

void Values::OnExpiry(const engine::KeyName& key) {
  events_.PublishValueEvent(key, "expired", kExpiredEvents);
}

}  // namespace fairlock::command
