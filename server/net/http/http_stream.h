// The stream of an HTTP connection, with or without TLS.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <utility>

#include "server/net/tls/tls_context.h"

namespace fairlock::net {

// A stream with the interface that Beast requires. Any TLS handshake is already complete. A
// moved-from stream can only be closed.
class HttpStream {
 public:
  using Tcp = boost::beast::tcp_stream;
  using next_layer_type = Tcp;
  using executor_type = Tcp::executor_type;

  // `ssl` null: without TLS.
  HttpStream(boost::asio::ip::tcp::socket socket, SslHandle ssl)
      : tcp_(std::make_unique<Tcp>(std::move(socket))) {
    if (ssl != nullptr) tls_ = std::make_unique<Tls>(*tcp_, ssl.release());
  }

  executor_type get_executor() { return tcp_->get_executor(); }
  Tcp& next_layer() { return *tcp_; }
  const Tcp& next_layer() const { return *tcp_; }
  bool is_tls() const { return tls_ != nullptr; }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_ != nullptr) {
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    } else {
      tcp_->async_read_some(buffers, std::forward<Handler>(handler));
    }
  }

  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_ != nullptr) {
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    } else {
      tcp_->async_write_some(buffers, std::forward<Handler>(handler));
    }
  }

  // Turns a plain stream into one with TLS, whose handshake comes next.
  void BeginTls(SslHandle ssl) { tls_ = std::make_unique<Tls>(*tcp_, ssl.release()); }

  // REQUIRES: BeginTls was called, for the client's side of a connection.
  template <typename Handler>
  void async_handshake_as_client(Handler&& handler) {
    tls_->async_handshake(boost::asio::ssl::stream_base::client, std::forward<Handler>(handler));
  }

  // Tells the peer that no more data follows, and waits for the peer to do the same. REQUIRES:
  // is_tls.
  template <typename Handler>
  void async_shutdown(Handler&& handler) {
    tls_->async_shutdown(std::forward<Handler>(handler));
  }

  void Close() {
    if (tcp_ != nullptr) tcp_->close();
  }

 private:
  using Tls = boost::asio::ssl::stream<Tcp&>;

  std::unique_ptr<Tcp> tcp_;
  std::unique_ptr<Tls> tls_;  // null: without TLS
};

// Beast finds these functions by name and uses them to end a WebSocket after it has sent the
// closing frame.
template <typename Handler>
void async_teardown(boost::beast::role_type role, HttpStream& stream, Handler&& handler) {
  using boost::beast::websocket::async_teardown;
  async_teardown(role, stream.next_layer().socket(), std::forward<Handler>(handler));
}

inline void teardown(boost::beast::role_type role, HttpStream& stream,
                     boost::beast::error_code& error) {
  using boost::beast::websocket::teardown;
  teardown(role, stream.next_layer().socket(), error);
}

}  // namespace fairlock::net
