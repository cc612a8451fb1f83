// The certificates and the TLS settings of a listening socket.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

namespace fairlock::net {

enum class ClientCertificates : std::uint8_t { kNotAsked, kOptional, kRequired };

struct TlsOptions {
  std::string cert_file;  // PEM with the server's certificate and its chain
  std::string key_file;   // PEM, without a password
  std::string ca_file;    // verifies client certificates; required if they are requested
  ClientCertificates client_certificates = ClientCertificates::kNotAsked;
  std::string ciphers;       // for TLS 1.2, in OpenSSL's notation
  std::string ciphersuites;  // for TLS 1.3; empty means the default of OpenSSL
};

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslHandle = std::unique_ptr<SSL, SslDeleter>;

// Offers TLS 1.2 and 1.3, without renegotiation, compression or early data. Sessions are resumed by
// tickets, which are valid only for this context: after new certificates have been read, clients
// are verified again. Immutable and thread-safe. Connections keep alive the parts that they use.
class TlsContext {
 public:
  // Reads the files. If the result is null, `error` names the wrong option and the reason.
  static std::shared_ptr<const TlsContext> Read(const TlsOptions& options, std::string& error);

  // The server's side of a new connection. Null if there is no memory.
  SslHandle NewConnection() const { return SslHandle(SSL_new(context_.get())); }

  // "CN=locks.example, valid until Nov 22 09:00:00 2027 GMT".
  const std::string& description() const { return description_; }
  // Whether the certificate is not valid yet, or has expired.
  bool is_out_of_time() const { return is_out_of_time_; }

 private:
  struct ContextDeleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };

  TlsContext();
  std::string Configure(const TlsOptions& options);
  std::string ReadCertificates(const TlsOptions& options);
  std::string ReadAuthorities(const TlsOptions& options);
  void Describe();

  std::unique_ptr<SSL_CTX, ContextDeleter> context_;
  std::string description_;
  bool is_out_of_time_ = false;
};

// The message of OpenSSL's first error on this thread. Clears the thread's error queue.
std::string TakeSslError();

}  // namespace fairlock::net
