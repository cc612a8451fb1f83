#include "server/net/sockets/acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <utility>

#include "server/net/sockets/socket_options.h"

namespace fairlock::net {

Acceptor::Acceptor(boost::asio::io_context& io, ListeningSocket socket,
                   const SocketOptions& options)
    : descriptor_(io, socket.descriptor), socket_(std::move(socket)) {
  // Accepted connections inherit the options, which saves system calls for each of them.
  if (socket_.unix_path.empty()) ApplyToTcp(socket_.descriptor, options);
}

Acceptor::~Acceptor() { assert(is_disposable()); }

void Acceptor::Start() { WaitForConnection(); }

void Acceptor::WaitForConnection() {
  is_ready_ = false;
  is_waiting_ = true;
  descriptor_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code&) {
    is_waiting_ = false;
    is_ready_ = !is_closed_;
  });
}

void Acceptor::Accept(std::size_t accepts_max, engine::TimeMs now, ConnectionSink& sink) {
  AssertInLoop();
  if (now < next_accept_at()) return;
  for (std::size_t i = 0; i < accepts_max; ++i) {
    if (!AcceptOne(now, sink)) return;
  }
}

bool Acceptor::AcceptOne(engine::TimeMs now, ConnectionSink& sink) {
  sockaddr_storage peer{};
  socklen_t peer_bytes = sizeof(peer);
  const int accepted = accept4(socket_.descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_bytes,
                               SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (accepted >= 0) {
    sink.TakeConnection(accepted, {.peer = FormatAddress(peer, socket_.unix_path),
                                   .local = FormatLocalAddress(accepted, socket_.unix_path),
                                   .descriptor = accepted,
                                   .is_tls = socket_.is_tls});
    return true;
  }
  switch (errno) {
    case EAGAIN:
      WaitForConnection();
      return false;
    case EINTR:
    case ECONNABORTED:
      return true;  // this connection failed; there may be another one
    default:
      sink.LogAcceptFailed(errno);
      paused_until_ = now + kPauseMs;
      return false;
  }
}

void Acceptor::Close() {
  if (std::exchange(is_closed_, true)) return;
  is_ready_ = false;
  descriptor_.release();
  CloseListeningSocket(socket_);
}

}  // namespace fairlock::net
