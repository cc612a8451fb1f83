// One connection under TLS, read and written as a socket is.
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

// Moves bytes between a socket that does not block and OpenSSL; holds no buffer while nothing is
// under way. Does not own the socket. Used by one thread at a time.
//
// Invariant: after Receive nothing that has arrived is left in OpenSSL but the beginning of one
// record, so waiting for the socket's readiness misses nothing.
class TlsSocket {
 public:
  // What Receive needs.
  static constexpr std::size_t kWindowBytesMin = 64 * 1024;

  TlsSocket(SslHandle ssl, int socket);
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;

  // One step of the handshake, as far as the bytes that are there allow.
  enum class Step : std::uint8_t { kDone, kNeedsToRead, kNeedsToWrite, kFailed };
  Step Shake();

  // As recv(2) and send(2), errno included; EPROTO: the peer breaks the rules of TLS. After EAGAIN
  // Send is called again with the same bytes, or more of them. REQUIRES: the handshake is done, and
  // at least kWindowBytesMin of room.
  ssize_t Receive(std::span<char> window);
  // The peer has ended TLS: no data follows what Receive returned, though the socket is open.
  bool has_ended() const { return has_ended_; }
  ssize_t Send(std::string_view bytes);
  // Tells the peer that no more data follows, if the socket takes it at once.
  void SendEnd();

  int socket() const { return socket_; }
  // Why Shake has failed.
  const std::string& failure() const { return failure_; }
  // "TLSv1.3".
  std::string_view version() const { return SSL_get_version(ssl_.get()); }
  // The common name in the client's certificate; empty: it gave none.
  std::string PeerName() const;
  // For another user of the connection; nothing may be called after it.
  SslHandle Release() { return std::move(ssl_); }

 private:
  struct Bio;  // what OpenSSL reads from and writes to

  void RememberFailure();

  SslHandle ssl_;
  const int socket_;
  std::size_t receivable_bytes_ = 0;  // how much may still be taken from the socket
  bool is_at_end_ = false;            // of the bytes of the socket
  bool has_ended_ = false;
  bool is_broken_ = false;
  int error_ = 0;  // errno of the socket
  std::string failure_;
};

}  // namespace fairlock::net
