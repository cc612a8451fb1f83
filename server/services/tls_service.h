// TLS, put together: certificates, and where clients that speak it come in.
#pragma once

#include <memory>
#include <string>

#include "server/config/config.h"
#include "server/logging/logging.h"
#include "server/net/tls_context.h"
#include "server/net/tls_entrance.h"
#include "server/net/turn_loop.h"

namespace fairlock::server {

// What is wrong with how the options of TLS go together; empty: nothing.
std::string CheckTls(const Config& config);

// Loop-confined; destroyed before the loop and before who is given to Start.
class TlsService {
 public:
  TlsService(net::TurnLoop& loop, Log& log) : loop_(loop), log_(log) {}

  // Reads the certificates, if TLS is wanted. Empty: done; else what went wrong, and what to do.
  [[nodiscard]] std::string Start(const Config& config, net::TlsKeeper& http);
  // Reads them again, for handshakes from now on; if one cannot be read they stay as they were.
  void Reload(const Config& config);

  // Null: TLS is not wanted there.
  net::TlsEntrance* resp_entrance() { return resp_.get(); }
  net::TlsEntrance* http_entrance() { return http_.get(); }

 private:
  // Empty: done, and all entrances have them.
  std::string ReadCertificates(const Config& config);

  net::TurnLoop& loop_;
  Log& log_;
  std::unique_ptr<net::TlsEntrance> resp_;
  std::unique_ptr<net::TlsEntrance> http_;
};

}  // namespace fairlock::server
