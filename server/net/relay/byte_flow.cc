#include "server/net/relay/byte_flow.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace fairlock::net {

namespace {

bool IsTransient(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

ByteFlow::Step ByteFlow::Move() {
  if (!rest_.empty()) {
    const std::string rest = std::exchange(rest_, std::string());
    const Step step = Send(rest.data(), rest.size());
    if (step != Step::kAwaitsBytes) return step;
  }
  std::array<char, kBytesMax> bytes;
  const ssize_t received = ::recv(from_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (received > 0) return Send(bytes.data(), static_cast<std::size_t>(received));
  if (received < 0) return IsTransient(errno) ? Step::kAwaitsBytes : Step::kFailed;
  return ::shutdown(to_, SHUT_WR) == 0 ? Step::kEnded : Step::kFailed;
}

ByteFlow::Step ByteFlow::Send(const char* bytes, std::size_t count) {
  const ssize_t sent = ::send(to_, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && !IsTransient(errno)) return Step::kFailed;
  const std::size_t taken = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (taken == count) return Step::kAwaitsBytes;
  rest_.assign(bytes + taken, count - taken);
  return Step::kAwaitsSpace;
}

}  // namespace fairlock::net
