#include "server/net/relay/relayed_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace fairlock::net {

namespace {

bool HasFailed(int socket) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0;
}

// If the system's limit is reached, the descriptor stays closed.
void Adopt(Descriptor& descriptor, OwnedDescriptor socket) {
  boost::system::error_code error;
  descriptor.assign(socket.number(), error);
  if (!error) socket.Release();
}

}  // namespace

RelayedConnection::RelayedConnection(boost::asio::io_context& io, OwnedDescriptor client,
                                     OwnedDescriptor leader, std::function<void()> on_end)
    : client_(io),
      leader_(io),
      to_leader_{.flow = {client.number(), leader.number()}, .from = client_, .to = leader_},
      to_client_{.flow = {leader.number(), client.number()}, .from = leader_, .to = client_},
      linger_(io),
      on_end_(std::move(on_end)) {
  Adopt(client_, std::move(client));
  Adopt(leader_, std::move(leader));
}

void RelayedConnection::Start() {
  if (!client_.is_open() || !leader_.is_open()) return End();
  AwaitFailure(client_);
  AwaitFailure(leader_);
  Continue(to_leader_);
  if (on_end_) Continue(to_client_);
}

void RelayedConnection::Close() {
  on_end_ = nullptr;
  boost::system::error_code ignored;
  client_.close(ignored);
  leader_.close(ignored);
  linger_.cancel();
}

void RelayedConnection::Continue(Direction& direction) {
  switch (direction.flow.Move()) {
    case ByteFlow::Step::kAwaitsBytes:
      return Await(direction.from, Descriptor::wait_read, direction);
    case ByteFlow::Step::kAwaitsSpace:
      return Await(direction.to, Descriptor::wait_write, direction);
    case ByteFlow::Step::kEnded:
      return OnDirectionEnd(direction);
    case ByteFlow::Step::kFailed:
      return End();
  }
}

void RelayedConnection::Await(Descriptor& descriptor, Descriptor::wait_type what,
                              Direction& direction) {
  descriptor.async_wait(what,
                        [self = shared_from_this(), &direction](const boost::system::error_code&) {
                          if (self->on_end_) self->Continue(direction);
                        });
}

// Each direction waits for only one of its sockets at a time, so a failure of the other one might
// go unnoticed.
void RelayedConnection::AwaitFailure(Descriptor& descriptor) {
  descriptor.async_wait(Descriptor::wait_error,
                        [self = shared_from_this(), &descriptor](const boost::system::error_code&) {
                          // The end of both directions is reported here too, but is no failure.
                          if (self->on_end_ && HasFailed(descriptor.native_handle())) self->End();
                        });
}

void RelayedConnection::OnDirectionEnd(Direction& direction) {
  direction.has_ended = true;
  if (to_leader_.has_ended && to_client_.has_ended) return End();
  if (!to_client_.has_ended) return;
  linger_.expires_after(kLinger);
  linger_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && self->on_end_) self->End();
  });
}

void RelayedConnection::End() {
  const auto on_end = std::exchange(on_end_, nullptr);
  Close();
  on_end();
}

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

void RelayedConnections::Add(std::string peer, OwnedDescriptor client, OwnedDescriptor leader) {
  AssertInLoop();
  const auto entry = connections_.insert(connections_.end(), {std::move(peer), nullptr});
  const auto connection = std::make_shared<RelayedConnection>(
      io_, std::move(client), std::move(leader), [this, entry] { OnEnd(entry); });
  entry->connection = connection;
  connection->Start();
}

void RelayedConnections::CloseAll() {
  while (!connections_.empty()) {
    connections_.front().connection->Close();
    OnEnd(connections_.begin());
  }
}

void RelayedConnections::OnEnd(std::list<Entry>::iterator entry) {
  const std::string peer = std::move(entry->peer);
  connections_.erase(entry);
  on_end_(peer);
}

}  // namespace fairlock::net
