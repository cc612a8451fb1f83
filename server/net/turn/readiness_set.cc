#include "server/net/turn/readiness_set.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>

namespace fairlock::net {

namespace {

epoll_event EventFor(RespConnection& connection, Interest interest) {
  epoll_event event{};
  if (interest.to_read) event.events |= EPOLLIN;
  if (interest.to_write) event.events |= EPOLLOUT;
  if (interest == Interest()) event.events = EPOLLET;
  event.data.ptr = &connection;
  return event;
}

}  // namespace

ReadinessSet::ReadinessSet() : descriptor_(::epoll_create1(EPOLL_CLOEXEC)) {
  assert(descriptor_ >= 0);
}

ReadinessSet::~ReadinessSet() { ::close(descriptor_); }

void ReadinessSet::AddWake(int event_descriptor) {
  // Edge-triggered, so that each write is reported once and the descriptor need not be read.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  [[maybe_unused]] const int result =
      ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, event_descriptor, &event);
  assert(result == 0);
}

bool ReadinessSet::Add(int socket, RespConnection& connection, Interest interest) {
  epoll_event event = EventFor(connection, interest);
  return ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, socket, &event) == 0;
}

void ReadinessSet::Change(int socket, RespConnection& connection, Interest interest) {
  epoll_event event = EventFor(connection, interest);
  [[maybe_unused]] const int result = ::epoll_ctl(descriptor_, EPOLL_CTL_MOD, socket, &event);
  assert(result == 0);
}

void ReadinessSet::Remove(int socket) {
  [[maybe_unused]] const int result = ::epoll_ctl(descriptor_, EPOLL_CTL_DEL, socket, nullptr);
  assert(result == 0);
}

std::span<const Readiness> ReadinessSet::Collect(std::size_t ready_max) {
  const int asked = static_cast<int>(std::clamp<std::size_t>(ready_max, 1, kReadyMax));
  const int found = std::max(::epoll_wait(descriptor_, events_, asked, 0), 0);
  std::size_t count = 0;
  for (int i = 0; i < found; ++i) {
    if (events_[i].data.ptr == nullptr) continue;  // the event descriptor, which only ends the wait
    const std::uint32_t bits = events_[i].events;
    ready_[count++] = {.connection = static_cast<RespConnection*>(events_[i].data.ptr),
                       .to_read = (bits & EPOLLIN) != 0,
                       .to_write = (bits & EPOLLOUT) != 0,
                       .is_lost = (bits & (EPOLLERR | EPOLLHUP)) != 0};
  }
  return {ready_, count};
}

}  // namespace fairlock::net
