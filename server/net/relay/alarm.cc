#include "server/net/relay/alarm.h"

#include <chrono>
#include <utility>

namespace fairlock::net {

void Alarm::Set(engine::DurationMs in_ms) {
  AssertInLoop();
  if (std::exchange(is_set_, true)) return;
  timer_.expires_after(std::chrono::milliseconds(in_ms));
  timer_.async_wait([this, ring = std::weak_ptr(ring_)](const boost::system::error_code& error) {
    const auto alive = ring.lock();
    if (error || !alive || !std::exchange(is_set_, false)) return;
    (*alive)();
  });
}

void Alarm::Cancel() {
  is_set_ = false;
  timer_.cancel();
}

}  // namespace fairlock::net
