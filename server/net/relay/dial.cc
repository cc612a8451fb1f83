#include "server/net/relay/dial.h"

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

namespace fairlock::net {

Dial::Dial(boost::asio::io_context& io, Endpoints endpoints, const SocketOptions& options,
           std::function<void(DialOutcome)> done)
    : io_(io),
      endpoints_(std::move(endpoints)),
      options_(options),
      done_(std::move(done)),
      readiness_(io) {}

Dial::~Dial() {
  if (readiness_.is_open()) readiness_.release();
}

std::shared_ptr<Dial> Dial::Start(boost::asio::io_context& io, Endpoints endpoints,
                                  const SocketOptions& options,
                                  std::function<void(DialOutcome)> done) {
  const std::shared_ptr<Dial> dial(new Dial(io, std::move(endpoints), options, std::move(done)));
  boost::asio::post(io, [dial] { dial->TryNext(); });
  return dial;
}

void Dial::Cancel() {
  done_ = nullptr;
  if (readiness_.is_open()) readiness_.release();
  socket_ = OwnedDescriptor();
}

void Dial::TryNext() {
  while (done_ && next_ < endpoints_.size()) {
    const int error = Begin(endpoints_[next_++]);
    if (error == 0) return;
    CountFailure(error);
  }
  if (done_) End({.socket = OwnedDescriptor(), .is_refused = is_refused_ && !endpoints_.empty()});
}

int Dial::Begin(const boost::asio::ip::tcp::endpoint& endpoint) {
  OwnedDescriptor socket(
      ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return errno;
  ApplyToTcp(socket.number(), options_);
  const auto size = static_cast<socklen_t>(endpoint.size());
  if (::connect(socket.number(), endpoint.data(), size) != 0 && errno != EINPROGRESS) return errno;
  boost::system::error_code error;
  readiness_.assign(socket.number(), error);
  if (error) return error.value();
  socket_ = std::move(socket);
  readiness_.async_wait(Descriptor::wait_write,
                        [self = shared_from_this()](const boost::system::error_code&) {
                          if (self->done_) self->OnWritable();
                        });
  return 0;
}

void Dial::OnWritable() {
  int error = 0;
  socklen_t bytes = sizeof(error);
  ::getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  readiness_.release();
  if (error == 0) return End({.socket = std::move(socket_)});
  socket_ = OwnedDescriptor();
  CountFailure(error);
  TryNext();
}

void Dial::CountFailure(int error) {
  if (error != ECONNREFUSED) is_refused_ = false;
}

void Dial::End(DialOutcome outcome) {
  const auto done = std::exchange(done_, nullptr);
  done(std::move(outcome));
}

}  // namespace fairlock::net
