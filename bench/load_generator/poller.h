// Reports which connections have input.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <span>

namespace fairlock::bench {

class Connection;

// Level-triggered epoll. The connections must outlive the poller.
class Poller {
 public:
  Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller();

  // Becomes readable when Wait has an event.
  int descriptor() const { return descriptor_; }

  // Makes Wait report `owner` for this connection.
  void Add(const Connection& connection, void* owner);
  // Makes Wait report, too, when the connection can send.
  void WatchUnsent(const Connection& connection, void* owner, bool is_on);

  // Waits for at most the given time. May return only some of the events; the next call then
  // returns the others.
  std::span<const epoll_event> Wait(int timeout_ms);

 private:
  int descriptor_;
  std::array<epoll_event, 256> events_;
};

}  // namespace fairlock::bench
