// The client's side of TLS on a non-blocking socket.
#pragma once

#include <openssl/ssl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/base/result.h"
#include "cli/connection/settings.h"

namespace fairlock::cli {

// Speaks TLS 1.2 or newer. Accepts only servers with a trusted certificate for the expected name,
// unless the settings say otherwise. Does not own the socket, which must outlive it.
class TlsConnection {
 public:
  // Reads the certificate files that the settings name. Every connection reads them again, so `run`
  // picks up a renewed certificate. The certificate must be for `host`, unless the settings name
  // another server.
  static Result<std::unique_ptr<TlsConnection>> Make(const Settings& settings,
                                                     const std::string& host, int socket);

  // Continues the handshake as far as the received bytes allow.
  enum class Step : std::uint8_t { kDone, kNeedsToRead, kNeedsToWrite, kFailed };
  Step Handshake();

  // Like recv(2) and send(2), including errno. After EPROTO, Problem() describes the error.
  ssize_t Receive(std::span<char> buffer);
  ssize_t Send(std::string_view bytes);

  // Describes the error of Handshake, Receive or Send; `server` is the name to show.
  Failure Problem(const std::string& server) const;

 private:
  struct ContextDeleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  struct SslDeleter {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  TlsConnection() = default;
  std::string ReadFiles(const Settings& settings);
  bool Expect(const std::string& name);
  ssize_t ResultOf(int result);
  void RememberProblem(int error);

  std::unique_ptr<SSL_CTX, ContextDeleter> context_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
  int system_error_ = 0;
  int reason_ = 0;  // OpenSSL's reason code
  std::string text_;
};

}  // namespace fairlock::cli
