// Reports which of many sockets are ready.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

namespace fairlock::net {

class RespConnection;

// The conditions that a connection waits for. Errors, and the end of both directions, are always
// reported; to a connection that waits for nothing, only once.
struct Interest {
  bool to_read = false;
  bool to_write = false;

  friend bool operator==(const Interest&, const Interest&) = default;
};

struct Readiness {
  RespConnection* connection = nullptr;
  bool to_read = false;
  bool to_write = false;
  bool is_lost = false;  // an error, or both directions have ended
};

// An epoll set whose own descriptor becomes readable when a socket in it is ready, so that Asio
// waits for all sockets with one operation. If Asio waited for each socket separately, each request
// would cost another system call to renew the wait. In this set, a socket is added once, and then
// reported for as long as it is ready (level-triggered).
//
// Loop-confined. Does not own the sockets; a socket must be removed before it is closed.
class ReadinessSet {
 public:
  ReadinessSet();
  ReadinessSet(const ReadinessSet&) = delete;
  ReadinessSet& operator=(const ReadinessSet&) = delete;
  ~ReadinessSet();

  int descriptor() const { return descriptor_; }

  // Writing to `event_descriptor` ends the wait for this set.
  void AddWake(int event_descriptor);

  // False: the system's limit is reached.
  [[nodiscard]] bool Add(int socket, RespConnection& connection, Interest interest);
  void Change(int socket, RespConnection& connection, Interest interest);
  void Remove(int socket);

  // The sockets that are ready now, at most kReadyMax; does not wait. Valid until the next call.
  static constexpr std::size_t kReadyMax = 1024;
  std::span<const Readiness> Collect(std::size_t ready_max);

 private:
  int descriptor_;
  epoll_event events_[kReadyMax];
  Readiness ready_[kReadyMax];
};

}  // namespace fairlock::net
