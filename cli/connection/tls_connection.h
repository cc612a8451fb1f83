// A connection under TLS, seen from the client, on a socket that does not block.
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

// Speaks TLS 1.2 or newer, and believes only a server whose certificate is right and has its name,
// unless told otherwise. Does not own the socket, which must outlive it.
class TlsConnection {
 public:
  // Reads the files that the settings name. Each connection reads them anew, so that `run` goes on
  // with a certificate that was renewed meanwhile.
  static Result<std::unique_ptr<TlsConnection>> Make(const Settings& settings, int socket);

  // One step of the handshake, as far as the bytes that are there allow.
  enum class Step : std::uint8_t { kDone, kNeedsToRead, kNeedsToWrite, kFailed };
  Step Shake();

  // As recv(2) and send(2), errno included; EPROTO: problem() says what is wrong.
  ssize_t Receive(std::span<char> buffer);
  ssize_t Send(std::string_view bytes);

  // What Shake, Receive or Send has found; `server` names it.
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
  void NoteProblem(int error);

  std::unique_ptr<SSL_CTX, ContextDeleter> context_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
  int system_error_ = 0;
  int reason_ = 0;  // OpenSSL's
  std::string text_;
};

}  // namespace fairlock::cli
