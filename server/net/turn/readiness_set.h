// Which of many sockets are ready, for one wait of the loop.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

namespace fairlock::net {

class RespConnection;

// What a connection waits for. Errors and the end of both directions are reported whatever it is.
struct Interest {
  bool to_read = false;
  bool to_write = false;

  friend bool operator==(const Interest&, const Interest&) = default;
};

struct Readiness {
  RespConnection* connection = nullptr;
  bool to_read = false;
  bool to_write = false;
  bool is_lost = false;  // an error, or nothing can be sent or received any more
};

// An epoll set whose own descriptor becomes readable when a socket in it is ready, so that Asio
// waits for all of them by one operation. Asio waiting for each of them would cost a system call a
// request to begin the wait anew; here a socket is entered once, and reported for as long as it is
// ready (level-triggered).
//
// Loop-confined. Does not own the sockets; a socket is removed before it is closed.
class ReadinessSet {
 public:
  ReadinessSet();
  ReadinessSet(const ReadinessSet&) = delete;
  ReadinessSet& operator=(const ReadinessSet&) = delete;
  ~ReadinessSet();

  int descriptor() const { return descriptor_; }

  // Whatever the set is waited for ends the wait whenever the descriptor is written to.
  void AddWake(int event_descriptor);

  // False: the system's limit is reached.
  [[nodiscard]] bool Add(int socket, RespConnection& connection, Interest interest);
  void Change(int socket, RespConnection& connection, Interest interest);
  void Remove(int socket);

  // Those that are ready now, at most kReadyMax, without waiting. Valid until the next call.
  static constexpr std::size_t kReadyMax = 1024;
  std::span<const Readiness> Collect(std::size_t ready_max);

 private:
  int descriptor_;
  epoll_event events_[kReadyMax];
  Readiness ready_[kReadyMax];
};

}  // namespace fairlock::net
