#include "server/logging/slow_lock_log.h"

#include "server/command/locks/lock_message.h"

namespace fairlock::server {

namespace {

using engine::EventKind;

bool IsEndOfWait(const engine::Event& event) {
  switch (event.kind) {
    case EventKind::kGranted:
      return event.has_waited;
    case EventKind::kCancelled:
    case EventKind::kReplaced:
    case EventKind::kTimedOut:
    case EventKind::kLapsed:
      return true;
    default:
      return false;
  }
}

bool IsEndOfHold(EventKind kind) {
  return kind == EventKind::kReleased || kind == EventKind::kExpired ||
         kind == EventKind::kDisconnected || kind == EventKind::kBroken;
}

}  // namespace

void SlowLockLog::Take(const engine::Event& event) {
  if (limits_.wait_ms > 0 && event.waited_ms > limits_.wait_ms && IsEndOfWait(event)) {
    Write("waited", event.waited_ms, event);
  } else if (limits_.hold_ms > 0 && event.held_ms > limits_.hold_ms && IsEndOfHold(event.kind)) {
    Write("held", event.held_ms, event);
  }
}

void SlowLockLog::Write(std::string_view what, engine::DurationMs duration_ms,
                        const engine::Event& event) {
  if (!lines_.Take(event.at)) return;
  const engine::ClientIdentity& client = clients_.Identity(event.client);
  log_.Warning("{} {} ms: key {} (db {}), owner {}, then {}; client {} {} user {}{}", what,
               duration_ms, Escaped(event.key.bytes), event.key.db, Escaped(event.owner),
               command::EventName(event.kind), client.address, Escaped(client.name), client.user,
               lines_.TakeUnwritten());
}

}  // namespace fairlock::server
