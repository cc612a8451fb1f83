#include "server/logging/slow_lock_log.h"

#include <string>
#include <utility>

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

bool SlowLockLog::MayLog(engine::TimeMs now) {
  if (now >= period_end_) {
    period_end_ = now + kPeriodMs;
    lines_ = 0;
  }
  return ++lines_ <= kLinesMax;
}

void SlowLockLog::Write(std::string_view what, engine::DurationMs duration_ms,
                        const engine::Event& event) {
  if (!MayLog(event.at)) {
    ++unwritten_;
    return;
  }
  const std::uint64_t unwritten = std::exchange(unwritten_, 0);
  const engine::ClientIdentity& client = clients_.Identity(event.client);
  log_.Warning(
      "{} {} ms: key {} (db {}), owner {}, then {}; client {} {} user {}{}", what, duration_ms,
      Escaped(event.key.bytes), event.key.db, Escaped(event.owner), command::EventName(event.kind),
      client.address, Escaped(client.name), client.user,
      unwritten == 0 ? "" : "; " + std::to_string(unwritten) + " earlier ones were not logged");
}

}  // namespace fairlock::server
