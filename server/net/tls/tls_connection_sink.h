// The interface that receives connections whose TLS handshake is complete.
#pragma once

#include <memory>

#include "server/command/client/client.h"
#include "server/net/tls/tls_socket.h"

namespace fairlock::net {

// Loop-confined.
class TlsConnectionSink {
 public:
  // Whether handshakes count in Turn::addresses, like the connections that result from them.
  virtual bool CountsByAddress() const { return false; }
  // Takes ownership of the socket.
  virtual void TakeTlsConnection(std::unique_ptr<TlsSocket> tls,
                                 command::ClientAddress address) = 0;
  virtual void LogAcceptFailed(int error) = 0;

 protected:
  ~TlsConnectionSink() = default;
};

}  // namespace fairlock::net
