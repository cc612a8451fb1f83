#include "bench/load_generator/poller.h"

#include <unistd.h>

#include <cerrno>

#include "bench/load_generator/connection.h"
#include "bench/load_generator/failure.h"

namespace fairlock::bench {

Poller::Poller() : descriptor_(epoll_create1(EPOLL_CLOEXEC)) {
  if (descriptor_ < 0) FailWithErrno("epoll_create1");
}

Poller::~Poller() { close(descriptor_); }

void Poller::Add(const Connection& connection, void* owner) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = owner;
  if (epoll_ctl(descriptor_, EPOLL_CTL_ADD, connection.descriptor(), &event) != 0) {
    FailWithErrno("epoll_ctl");
  }
}

void Poller::WatchUnsent(const Connection& connection, void* owner, bool is_on) {
  epoll_event event{};
  event.events = is_on ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = owner;
  if (epoll_ctl(descriptor_, EPOLL_CTL_MOD, connection.descriptor(), &event) != 0) {
    FailWithErrno("epoll_ctl");
  }
}

std::span<const epoll_event> Poller::Wait(int timeout_ms) {
  const int count =
      epoll_wait(descriptor_, events_.data(), static_cast<int>(events_.size()), timeout_ms);
  if (count < 0 && errno != EINTR) FailWithErrno("epoll_wait");
  return {events_.data(), count < 0 ? 0 : static_cast<std::size_t>(count)};
}

}  // namespace fairlock::bench
