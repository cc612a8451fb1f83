// Which connections have something to read.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <span>

namespace fairlock::bench {

class Connection;

// Level-triggered epoll. The connections must live as long as the poller.
class Poller {
 public:
  Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller();

  // Readable when Wait has something to give.
  int descriptor() const { return descriptor_; }

  // `owner` is what Wait gives for it.
  void Add(const Connection& connection, void* owner);
  // Also report when it can send.
  void WatchUnsent(const Connection& connection, void* owner, bool is_on);

  // Waits at most so long; fewer than all events may be given, the others the next time.
  std::span<const epoll_event> Wait(int timeout_ms);

 private:
  int descriptor_;
  std::array<epoll_event, 256> events_;
};

}  // namespace fairlock::bench
