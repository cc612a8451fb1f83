// The certificates of a listening socket, and which TLS it speaks.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

namespace fairlock::net {

enum class ClientCertificates : std::uint8_t { kNotAsked, kOptional, kRequired };

struct TlsOptions {
  std::string cert_file;  // PEM, the chain behind the server's own
  std::string key_file;   // PEM, without a password
  std::string ca_file;    // who vouches for clients; needed unless they are not asked
  ClientCertificates client_certificates = ClientCertificates::kNotAsked;
  std::string ciphers;       // of TLS 1.2, as OpenSSL names them
  std::string ciphersuites;  // of TLS 1.3; empty: those of OpenSSL
};

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslHandle = std::unique_ptr<SSL, SslDeleter>;

// TLS 1.2 and 1.3, without renegotiation, compression and early data. Sessions are resumed by
// tickets, which end with this context: whoever comes after new certificates were read is looked at
// anew. Immutable, thread-safe; connections keep alive what they need of it.
class TlsContext {
 public:
  // Null: `error` says which option is wrong, and why.
  static std::shared_ptr<const TlsContext> Read(const TlsOptions& options, std::string& error);

  // The server's side of a new connection. Null: no memory.
  SslHandle NewConnection() const { return SslHandle(SSL_new(context_.get())); }

  // "CN=locks.example, valid until Nov 22 09:00:00 2027 GMT".
  const std::string& description() const { return description_; }
  // The certificate's time has not come, or is over.
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

// The first error of OpenSSL on this thread, in its words; then there is none any more.
std::string TakeSslError();

}  // namespace fairlock::net
