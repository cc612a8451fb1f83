// The socket of one connection, with or without TLS.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "server/net/tls/tls_socket.h"
#include "server/net/turn/readiness_set.h"

namespace fairlock::net {

// Owns the descriptor. Loop-confined.
class ClientSocket {
 public:
  // `tls` null: the bytes are not encrypted.
  ClientSocket(int descriptor, std::unique_ptr<TlsSocket> tls);
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;
  ~ClientSocket();

  int descriptor() const { return descriptor_; }
  // The peer sends nothing more.
  bool is_peer_done() const { return peer_ != Peer::kOpen; }
  // The peer sends nothing more and receives nothing more.
  bool is_peer_lost() const { return peer_ == Peer::kLost; }
  void MarkPeerLost() { peer_ = Peer::kLost; }

  // Receives at most `bytes_max` bytes, or whole records under TLS. Returns how many; if 0, the
  // peer may have become done or lost.
  std::size_t Receive(std::span<char> window, std::size_t bytes_max);
  // Whether more than `bytes` can be received now.
  bool HasMoreThan(int bytes) const;
  // Returns how many bytes the kernel took, or -1 if the connection has failed.
  ssize_t Send(std::string_view bytes);
  // Before the end of a working connection: tells a TLS peer that no more data follows. If asked
  // to, drops what has arrived: closing with unread bytes would reset the connection, and the peer
  // might lose its last reply.
  void SendEnd(bool drops_input);

  // What the readiness set reports for this socket.
  Interest interest() const { return interest_; }
  // Enters the socket into the set; false: the system's limit is reached.
  [[nodiscard]] bool Enter(ReadinessSet& set, RespConnection& connection, Interest interest);
  // REQUIRES: entered.
  void SetInterest(ReadinessSet& set, RespConnection& connection, Interest interest);
  void Leave(ReadinessSet& set);

 private:
  enum class Peer : std::uint8_t { kOpen, kDone, kLost };

  const std::unique_ptr<TlsSocket> tls_;
  const int descriptor_;
  Interest interest_;
  Peer peer_ = Peer::kOpen;
  bool is_entered_ = false;
};

}  // namespace fairlock::net
