#include "server/net/sockets/descriptor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cassert>
#include <cstdint>

namespace fairlock::net {

EventDescriptor::EventDescriptor() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  assert(descriptor_ >= 0);
}

EventDescriptor::~EventDescriptor() { ::close(descriptor_); }

void EventDescriptor::Signal() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof one);
}

void EventDescriptor::Await(int wait_ms_max) {
  pollfd polled{.fd = descriptor_, .events = POLLIN, .revents = 0};
  if (::poll(&polled, 1, wait_ms_max) <= 0) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = ::read(descriptor_, &count, sizeof count);
}

boost::asio::ip::tcp TcpFamilyOf(int descriptor) {
  int family = AF_INET;
  socklen_t bytes = sizeof family;
  getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
  return family == AF_INET6 ? boost::asio::ip::tcp::v6() : boost::asio::ip::tcp::v4();
}

}  // namespace fairlock::net
