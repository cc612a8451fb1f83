// The client's side of TLS connections to other nodes.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <utility>

#include "server/net/tls/tls_context.h"

namespace fairlock::net {

// Verifies the certificate and the host of each node, because it receives the credentials of users.
// Reads the CAs for the first connection. Loop-confined.
class TlsClientContext {
 public:
  // If `ca_file` is empty, trusts the CAs that the system trusts.
  explicit TlsClientContext(std::string ca_file) : ca_file_(std::move(ca_file)) {}

  // Reads the CAs again for the next connection.
  void Forget() { context_.reset(); }

  // `host` is a name or a numeric address. If the result is null, `error` gives the reason.
  SslHandle NewConnection(const std::string& host) const;
  const std::string& error() const { return error_; }

 private:
  struct ContextDeleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };

  bool Read() const;

  const std::string ca_file_;
  mutable std::unique_ptr<SSL_CTX, ContextDeleter> context_;  // null if not read yet
  mutable std::string error_;
};

}  // namespace fairlock::net
