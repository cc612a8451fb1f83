#include "server/net/tls/tls_client_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

namespace fairlock::net {

bool TlsClientContext::Read() const {
  ERR_clear_error();
  std::unique_ptr<SSL_CTX, ContextDeleter> context(SSL_CTX_new(TLS_client_method()));
  const bool is_read =
      context != nullptr &&
      (ca_file_.empty() ? SSL_CTX_set_default_verify_paths(context.get())
                        : SSL_CTX_load_verify_file(context.get(), ca_file_.c_str())) == 1;
  if (!is_read) {
    error_ = (ca_file_.empty() ? "the CAs of the system" : "tls_ca_file: " + ca_file_) + ": " +
             TakeSslError();
    return false;
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  context_ = std::move(context);
  return true;
}

SslHandle TlsClientContext::NewConnection(const std::string& host) const {
  if (context_ == nullptr && !Read()) return nullptr;
  SslHandle ssl(SSL_new(context_.get()));
  if (ssl == nullptr) {
    error_ = TakeSslError();
    return nullptr;
  }
  // A certificate names numeric addresses and host names in different fields.
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return ssl;
  ERR_clear_error();
  SSL_set_tlsext_host_name(ssl.get(), host.c_str());
  if (SSL_set1_host(ssl.get(), host.c_str()) != 1) {
    error_ = TakeSslError();
    return nullptr;
  }
  return ssl;
}

}  // namespace fairlock::net
