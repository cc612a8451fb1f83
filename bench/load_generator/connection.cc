#include "bench/load_generator/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "bench/load_generator/failure.h"

namespace fairlock::bench {

namespace {

int ConnectUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) Fail("the path of the unix socket is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) FailWithErrno("socket");
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    FailWithErrno("connect to " + path);
  }
  return descriptor;
}

int ConnectTcp(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    Fail(host + " is not an IPv4 address");
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) FailWithErrno("socket");
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    FailWithErrno("connect to " + host + ":" + std::to_string(port));
  }
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return descriptor;
}

}  // namespace

Endpoint ParseEndpoint(std::string_view text) {
  Endpoint endpoint;
  if (text.find('/') != std::string_view::npos) {
    endpoint.unix_path = text;
    return endpoint;
  }
  const std::size_t colon = text.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc() || end != digits.data() + digits.size() || endpoint.port == 0) {
    Fail(std::string(text) + " is neither ADDRESS:PORT nor the path of a unix socket");
  }
  endpoint.host = text.substr(0, colon);
  return endpoint;
}

Connection::Connection(const Endpoint& endpoint)
    : descriptor_(endpoint.unix_path.empty() ? ConnectTcp(endpoint.host, endpoint.port)
                                             : ConnectUnix(endpoint.unix_path)) {}

Connection::~Connection() { close(descriptor_); }

void Connection::Send(std::string_view bytes) {
  if (!unsent_.empty()) {
    unsent_.append(bytes);
    bytes = unsent_;
  }
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t size =
        send(descriptor_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0) {
      if (errno == EAGAIN) break;
      FailWithErrno("send");
    }
    sent += static_cast<std::size_t>(size);
  }
  unsent_ = std::string(bytes.substr(sent));
}

bool Connection::Receive() {
  static std::array<char, 256 * 1024> buffer;
  const ssize_t size = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size == 0) Fail("the server closed a connection");
  if (size < 0) {
    if (errno == EAGAIN) return false;
    FailWithErrno("recv");
  }
  received_.erase(0, taken_);
  taken_ = 0;
  received_.append(buffer.data(), static_cast<std::size_t>(size));
  return true;
}

protocol::SkippedReply Connection::TakeReply() {
  const auto reply = protocol::SkipReply(std::string_view(received_).substr(taken_));
  if (reply.status == protocol::ReplyStatus::kError) Fail("a reply does not follow the protocol");
  if (reply.status == protocol::ReplyStatus::kReply) taken_ += reply.consumed;
  return reply;
}

protocol::SkippedReply Connection::AwaitReply() {
  for (;;) {
    const auto reply = TakeReply();
    if (reply.status == protocol::ReplyStatus::kReply) return reply;
    pollfd ready{descriptor_, POLLIN, 0};
    if (has_unsent()) ready.events |= POLLOUT;
    if (poll(&ready, 1, 60'000) == 0) Fail("no reply for 60 s");
    if ((ready.revents & POLLOUT) != 0) Flush();
    if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) Receive();
  }
}

protocol::SkippedReply Connection::Ask(std::string_view request) {
  Send(request);
  return AwaitReply();
}

}  // namespace fairlock::bench
