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
  // Whether the peer will send nothing more.
  bool is_peer_done() const { return peer_ != Peer::kOpen; }
  // Whether the peer will send nothing more and receive nothing more.
  bool is_peer_lost() const { return peer_ == Peer::kLost; }
  void MarkPeerLost() { peer_ = Peer::kLost; }

  // Receives at most `bytes_max` bytes, or whole records under TLS. Returns the number received; if
  // it is 0, the peer may have become done or lost.
  std::size_t Receive(std::span<char> window, std::size_t bytes_max);
  // Whether more than `bytes` can be received now.
  bool HasMoreThan(int bytes) const;
  // Returns how many bytes the kernel took, or -1 if the connection has failed.
  ssize_t Send(std::string_view bytes);
  // Call this before closing a connection that still works. Tells a TLS peer that no more data
  // follows. With `drops_input`, drops what has arrived: closing with unread bytes would reset the
  // connection, and the peer might lose its last reply.
  void SendEnd(bool drops_input);

  // The conditions that the readiness set reports for this socket.
  Interest interest() const { return interest_; }
  // Adds the socket to the set; false: the system's limit is reached.
  [[nodiscard]] bool Enter(ReadinessSet& set, RespConnection& connection, Interest interest);
  // REQUIRES: the socket is in the set.
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
