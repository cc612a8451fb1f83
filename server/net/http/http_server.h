// The HTTP connections of the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/http/api.h"
#include "server/net/http/http_peer.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/tls/tls_client_context.h"
#include "server/net/tls/tls_connection_sink.h"

namespace fairlock::net {

// Runs in the turns of the loop. When the limit is reached, a new connection replaces another:
// first one whose request has been incomplete for kHurry, then one that is idle, then any with an
// incomplete request, then one whose client has not read its answer for kHurry; among these, the
// one that has been in that state for the longest time. If there is none, kProbesMax more
// connections are accepted for the probes of monitoring. Loop-confined; destroyed before the loop.
class HttpServer final : public ConnectionSink,
                         public TlsConnectionSink,
                         public HttpConnectionOwner,
                         private contracts::LoopConfined {
 public:
  // How many requests for other partitions may be in progress.
  static constexpr std::size_t kForwardsMax = 64;
  static constexpr std::size_t kProbesMax = 16;
  static constexpr std::chrono::seconds kHurry{1};

  // `loop` and `api` must outlive it. `ca_file` has the CAs of other nodes that speak HTTPS; empty
  // means those of the system.
  HttpServer(TurnLoop& loop, const http::Api& api, std::size_t connections_max, std::string ca_file)
      : loop_(loop), api_(api), connections_max_(connections_max), to_nodes_(std::move(ca_file)) {}
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() { Close(); }

  // Reads the CAs of other nodes again.
  void ReloadAuthorities() { to_nodes_.Forget(); }

  // Refuses new connections from now on, and closes all others.
  void Close();

  void TakeConnection(int descriptor, command::ClientAddress address) override;
  void TakeTlsConnection(std::unique_ptr<TlsSocket> tls, command::ClientAddress address) override;
  void LogAcceptFailed(int error) override {
    loop_.turn().events.LogAcceptFailed(error, loop_.turn().now);
  }
  std::shared_ptr<HttpForward> Forward(const http::Elsewhere& to, const http::Request& request,
                                       std::function<void(http::Answer)> done) override;
  bool HasRoomForAll() const override { return peers_.size() <= connections_max_; }
  // The others remain for those that do not wait.
  bool HasRoomToWait() const override { return 2 * (waiting_ + 1) <= connections_max_; }
  void NoteWaiting(int change) override { waiting_ += static_cast<std::size_t>(change); }
  void Remove(const HttpPeer* peer) override { peers_.erase(peer); }
  void Add(std::shared_ptr<HttpPeer> peer) override { peers_[peer.get()] = std::move(peer); }

 private:
  // Closes the connection that gives way first, if any does.
  void MakeRoom();
  void Take(int descriptor, SslHandle ssl, command::ClientAddress address);

  TurnLoop& loop_;
  const http::Api& api_;
  const std::size_t connections_max_;
  TlsClientContext to_nodes_;
  std::vector<std::weak_ptr<HttpForward>> forwards_;
  std::unordered_map<const HttpPeer*, std::shared_ptr<HttpPeer>> peers_;
  std::size_t waiting_ = 0;  // requests that wait for a lock
  bool is_closed_ = false;
};

}  // namespace fairlock::net
