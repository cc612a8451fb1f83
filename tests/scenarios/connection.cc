#include "tests/scenarios/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fairlock::scenarios {

Connection::Connection(Connection&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), is_ended_(other.is_ended_) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_ended_, other.is_ended_);
  return *this;
}

Connection::~Connection() { Close(); }

void Connection::Close() {
  if (is_open()) close(std::exchange(descriptor_, -1));
}

std::string Connection::Open(const Address& address) {
  Close();
  is_ended_ = false;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  if (inet_pton(AF_INET, address.host.c_str(), &to.sin_addr) != 1) {
    return "'" + address.host + "' is not an IPv4 address";
  }
  descriptor_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (!is_open() || connect(descriptor_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
    const std::string why = std::strerror(errno);
    Close();
    return address.host + ":" + std::to_string(address.port) + ": " + why;
  }
  const int yes = 1;
  setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return {};
}

bool Connection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Connection::Receive(std::string& bytes, std::chrono::milliseconds patience) {
  if (!is_open() || is_ended_) return false;
  pollfd ready{.fd = descriptor_, .events = POLLIN, .revents = 0};
  int found = -1;
  do {
    found = poll(&ready, 1, static_cast<int>(patience.count()));
  } while (found < 0 && errno == EINTR);
  if (found <= 0) return false;
  std::array<char, 16 * 1024> buffer;
  const ssize_t received = recv(descriptor_, buffer.data(), buffer.size(), 0);
  is_ended_ = received <= 0;
  if (is_ended_) return false;
  bytes.append(buffer.data(), static_cast<std::size_t>(received));
  return true;
}

}  // namespace fairlock::scenarios
