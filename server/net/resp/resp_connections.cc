#include "server/net/resp/resp_connections.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlock::net {

namespace {

constexpr engine::DurationMs kWatchEveryMs = 1000;

// How many incomplete requests, the oldest first, are searched for one that gives way.
constexpr std::size_t kPartialSearched = 1000;

}  // namespace

void RespConnections::Finish() {
  AssertInLoop();
  // The list may grow: when a connection closes, another one may be granted its lock.
  for (std::size_t i = 0; i < turn_.to_finish.size(); ++i) turn_.to_finish[i]->Finish();
  turn_.to_finish.clear();
}

void RespConnections::BoundBuffers() {
  AssertInLoop();
  const command::ServerGauges& gauges = turn_.server.statistics.gauges;
  CloseLargest(&ConnectionBuffers::unread_bytes, gauges.unread_reply_bytes,
               turn_.limits.all_output_bytes_max, CloseReason::kAllOutputLimit);
  CloseLargest(&ConnectionBuffers::input_bytes, gauges.unexecuted_input_bytes,
               turn_.limits.all_input_bytes_max, CloseReason::kAllInputLimit);
}

// Unauthenticated connections are closed first, so that they cannot crowd out clients with a user.
void RespConnections::CloseLargest(std::uint32_t ConnectionBuffers::*bytes,
                                   const std::uint64_t& all, std::size_t bytes_max,
                                   CloseReason reason) {
  if (all <= bytes_max || bytes_max == 0) return;
  std::vector<RespConnection*> owners;
  for (RespConnection& connection : connections_) {
    if (connection.buffers().*bytes > 0) owners.push_back(&connection);
  }
  std::ranges::sort(owners, std::greater(), [bytes](const RespConnection* connection) {
    return std::pair(!connection->is_logged_in(), connection->buffers().*bytes);
  });
  // Frees an eighth more than necessary, so that not every turn has to do this.
  const std::size_t bytes_kept = bytes_max - bytes_max / 8;
  for (std::size_t i = 0; i < owners.size() && all > bytes_kept; ++i) owners[i]->Close(reason);
  // Other connections may have been granted the locks of the closed ones.
  Finish();
}

void RespConnections::WatchUnread() {
  AssertInLoop();
  std::vector<RespConnection*>& watched = turn_.to_watch;
  if (watched.empty() || turn_.now < watch_at_) return;
  watch_at_ = turn_.now + kWatchEveryMs;
  std::erase_if(watched,
                [](RespConnection* connection) { return connection->StopsBeingWatched(); });
  std::vector<pollfd> polled;
  polled.reserve(watched.size());
  for (const RespConnection* connection : watched) {
    polled.push_back({.fd = connection->descriptor(), .events = POLLRDHUP, .revents = 0});
  }
  if (::poll(polled.data(), polled.size(), 0) < 0) return;
  for (std::size_t i = 0; i < watched.size(); ++i) watched[i]->Watch(polled[i].revents);
  // Other connections may have been granted the locks of the closed ones.
  Finish();
}

void RespConnections::DestroyClosed() {
  if (turn_.closed.empty()) return;
  const auto is_closed = [](const RespConnection* connection) { return connection->is_closed(); };
  std::erase_if(turn_.to_execute, is_closed);
  std::erase_if(turn_.deferred, is_closed);
  turn_.scripts.EraseIf([](const ScriptSender* sender) {
    return static_cast<const RespConnection*>(sender)->is_closed();
  });
  std::erase_if(turn_.to_watch, is_closed);
  std::erase_if(turn_.held, is_closed);
  for (std::size_t i = 0; i < turn_.limits.closes_max && !turn_.closed.empty(); ++i) {
    RespConnection* const connection = turn_.closed.front();
    turn_.closed.pop_front();
    connections_.erase(connections_.iterator_to(*connection));
    delete connection;
  }
}

void RespConnections::End() {
  is_ending_ = true;
  for (RespConnection& connection : connections_) connection.End();
}

void RespConnections::CloseAll(CloseReason reason) {
  for (RespConnection& connection : connections_) connection.Close(reason);
}

void RespConnections::TakeConnection(int descriptor, command::ClientAddress address) {
  AssertInLoop();
  if (const auto refusal = WhyRefused(address)) {
    return Refuse(descriptor, address, *refusal, nullptr);
  }
  Add(descriptor, std::move(address), nullptr);
}

void RespConnections::TakeTlsConnection(std::unique_ptr<TlsSocket> tls,
                                        command::ClientAddress address) {
  const int descriptor = tls->socket();
  if (const auto refusal = WhyRefused(address)) {
    return Refuse(descriptor, address, *refusal, tls.get());
  }
  Add(descriptor, std::move(address), std::move(tls));
}

void RespConnections::MakeRoom() {
  if (turn_.server.newcomers.GiveWay(turn_.now)) return Finish();
  std::size_t left = kPartialSearched;
  for (PartialRequest& partial : turn_.partial_requests) {
    auto& connection = static_cast<RespConnection&>(partial);
    if (connection.profile().commands_processed == 0) {
      connection.Close(CloseReason::kGaveWay);
      return;
    }
    if (--left == 0) return;
  }
}

std::optional<Refusal> RespConnections::WhyRefused(const command::ClientAddress& address) {
  if (!is_ending_ && count() >= connections_max_ && !turn_.addresses.IsFull(address.peer)) {
    MakeRoom();
  }
  if (is_ending_ || count() >= connections_max_) {
    return Refusal{.connections_max = connections_max_};
  }
  if (turn_.addresses.IsFull(address.peer)) {
    return Refusal{.is_by_address = true, .connections_max = turn_.addresses.count_max()};
  }
  return std::nullopt;
}

void RespConnections::Refuse(int descriptor, const command::ClientAddress& address,
                             const Refusal& refusal, TlsSocket* tls) {
  ++turn_.server.statistics.counters.connections_rejected;
  if (refusal.is_by_address) ++turn_.server.statistics.counters.rejected_by_address;
  const std::string text = TextOf(refusal);
  // The send buffer of a new socket has space for one line. Under TLS, no line can be sent yet, so
  // the client only sees the end of the connection.
  if (tls != nullptr) {
    tls->Send(text);
    tls->SendEnd();
  } else {
    [[maybe_unused]] const ssize_t sent =
        ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  ::close(descriptor);
  turn_.events.LogRefused(address.peer, refusal, turn_.now);
}

void RespConnections::Add(int descriptor, command::ClientAddress address,
                          std::unique_ptr<TlsSocket> tls) {
  const std::string user = tls != nullptr && certificates_log_in_ ? tls->PeerName() : "";
  auto* connection = new RespConnection(turn_, descriptor, std::move(address), std::move(tls));
  if (!user.empty()) connection->LogInAs(user);
  connections_.push_back(*connection);
  turn_.events.LogOpened(connection->profile());
  if (!connection->Start()) {
    LogAcceptFailed(errno);
    connection->Close(CloseReason::kPeerFailed);
  }
}

}  // namespace fairlock::net
