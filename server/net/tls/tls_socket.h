// One TLS connection, read and written like a socket.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/tls/tls_context.h"

namespace fairlock::net {

// Moves bytes between a non-blocking socket and OpenSSL; holds no buffer while it is idle. Does not
// own the socket. Used by one thread at a time.
//
// Invariant: after Receive, OpenSSL holds at most the beginning of one record, so waiting for the
// socket's readiness misses nothing.
class TlsSocket {
 public:
  // The smallest window that Receive accepts.
  static constexpr std::size_t kWindowBytesMin = 64 * 1024;

  TlsSocket(SslHandle ssl, int socket);
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;

  // Continues the handshake with the bytes that have arrived.
  enum class Step : std::uint8_t { kDone, kNeedsToRead, kNeedsToWrite, kFailed };
  Step Shake();

  // Like recv(2) and send(2), including errno; EPROTO if the peer violates the TLS protocol. After
  // EAGAIN, Send must be called again with the same bytes, to which others may have been appended.
  // REQUIRES: the handshake is done, and the window has at least kWindowBytesMin.
  ssize_t Receive(std::span<char> window);
  // Whether the peer has ended TLS: no data follows what Receive has returned, even if the socket
  // is still open.
  bool has_ended() const { return has_ended_; }
  ssize_t Send(std::string_view bytes);
  // Tells the peer that no more data follows, if the kernel accepts that at once.
  void SendEnd();

  int socket() const { return socket_; }
  // The reason why Shake failed.
  const std::string& failure() const { return failure_; }
  // The TLS version, such as "TLSv1.3".
  std::string_view version() const { return SSL_get_version(ssl_.get()); }
  // The common name in the client's certificate; empty if there is none.
  std::string PeerName() const;
  // Hands the TLS connection to the caller. No other function may be called afterwards.
  SslHandle Release() { return std::move(ssl_); }

 private:
  struct Bio;  // what OpenSSL reads from and writes to

  void RememberFailure();

  SslHandle ssl_;
  const int socket_;
  std::size_t receivable_bytes_ = 0;  // how much may still be received from the socket in this call
  bool is_at_end_ = false;            // the socket has no more bytes and never will
  bool has_ended_ = false;
  bool is_broken_ = false;
  int error_ = 0;  // errno of the socket
  std::string failure_;
};

}  // namespace fairlock::net
