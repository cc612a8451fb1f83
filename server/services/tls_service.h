// Sets up TLS: the certificates, and the handshakes of TLS clients.
#pragma once

#include <memory>
#include <string>

#include "contracts/loop_confined.h"
#include "server/config/config.h"
#include "server/logging/logging.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/tls/tls_connection_sink.h"
#include "server/net/tls/tls_context.h"
#include "server/net/tls/tls_handshakes.h"

namespace fairlock::server {

// Checks that the TLS options are consistent. Returns the error, or an empty string.
std::string CheckTls(const Config& config);

// Loop-confined; destroyed before the loop and before the sink given to Start.
class TlsService : contracts::LoopConfined {
 public:
  TlsService(net::TurnLoop& loop, Log& log) : loop_(loop), log_(log) {}

  // Reads the certificates, if TLS is configured. Returns an empty string, or the error.
  [[nodiscard]] std::string Start(const Config& config, net::TlsConnectionSink& http);
  // Reloads the certificates for new handshakes. If one cannot be read, all stay as they are.
  void Reload(const Config& config);

  // Null if TLS is not configured there.
  net::TlsHandshakes* resp_handshakes() { return resp_.get(); }
  net::TlsHandshakes* http_handshakes() { return http_.get(); }

 private:
  // Reads the certificates and applies them to all handshakes. Returns the error, or an empty
  // string.
  std::string ReadCertificates(const Config& config);

  net::TurnLoop& loop_;
  Log& log_;
  std::unique_ptr<net::TlsHandshakes> resp_;
  std::unique_ptr<net::TlsHandshakes> http_;
};

}  // namespace fairlock::server
