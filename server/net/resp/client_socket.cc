#include "server/net/resp/client_socket.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "server/net/turn/turn_arena.h"

namespace fairlock::net {

static_assert(TurnArena::kWindowBytes >= TlsSocket::kWindowBytesMin);

namespace {

bool CanTryAgain(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

ClientSocket::ClientSocket(int descriptor, std::unique_ptr<TlsSocket> tls)
    : tls_(std::move(tls)), descriptor_(descriptor) {}

ClientSocket::~ClientSocket() { ::close(descriptor_); }

std::size_t ClientSocket::Receive(std::span<char> window, std::size_t bytes_max) {
  // A TLS record can be decrypted only as a whole, so under TLS `bytes_max` does not apply.
  if (tls_ == nullptr) window = window.first(std::min(bytes_max, window.size()));
  const ssize_t received = tls_ != nullptr ? tls_->Receive(window)
                                           : ::recv(descriptor_, window.data(), window.size(), 0);
  if (received < 0) {
    if (!CanTryAgain(errno)) peer_ = Peer::kLost;
    return 0;
  }
  const bool is_at_end = received == 0 || (tls_ != nullptr && tls_->has_ended());
  if (is_at_end && peer_ == Peer::kOpen) peer_ = Peer::kDone;
  return static_cast<std::size_t>(received);
}

bool ClientSocket::HasMoreThan(int bytes) const {
  int receivable = 0;
  return ::ioctl(descriptor_, FIONREAD, &receivable) == 0 && receivable > bytes;
}

ssize_t ClientSocket::Send(std::string_view bytes) {
  const ssize_t sent = tls_ != nullptr ? tls_->Send(bytes)
                                       : ::send(descriptor_, bytes.data(), bytes.size(),
                                                MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 && CanTryAgain(errno) ? 0 : sent;
}

void ClientSocket::SendEnd(bool drops_input) {
  if (tls_ != nullptr) tls_->SendEnd();
  constexpr int kReadsMax = 64;
  char bytes[4096];
  for (int i = 0; drops_input && i < kReadsMax; ++i) {
    if (::recv(descriptor_, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) return;
  }
}

bool ClientSocket::Enter(ReadinessSet& set, RespConnection& connection, Interest interest) {
  interest_ = interest;
  is_entered_ = set.Add(descriptor_, connection, interest);
  return is_entered_;
}

void ClientSocket::SetInterest(ReadinessSet& set, RespConnection& connection, Interest interest) {
  if (std::exchange(interest_, interest) == interest) return;
  set.Change(descriptor_, connection, interest);
}

void ClientSocket::Leave(ReadinessSet& set) {
  if (std::exchange(is_entered_, false)) set.Remove(descriptor_);
}

}  // namespace fairlock::net
