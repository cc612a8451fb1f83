#include "server/net/tls/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include <array>
#include <string_view>

namespace fairlock::net {

namespace {

// How long a session can be resumed without verifying the client's certificate again.
constexpr long kSessionSeconds = 3600;
constexpr std::string_view kSessionIdContext = "fairlock";

// Without this, OpenSSL would ask for the key's password on the terminal.
int RefuseToAsk(char*, int, int, void*) { return 0; }

std::string WrongFile(std::string_view option, const std::string& path) {
  const std::string reason = TakeSslError();
  return std::string(option) + ": " + (path.empty() ? "no file is given" : path + ": " + reason);
}

std::string TextOf(BIO* memory) {
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(memory, &bytes);
  return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
}

int VerifyModeOf(ClientCertificates wanted) {
  switch (wanted) {
    case ClientCertificates::kNotAsked:
      return SSL_VERIFY_NONE;
    case ClientCertificates::kOptional:
      return SSL_VERIFY_PEER;
    case ClientCertificates::kRequired:
      return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  }
  return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
}

}  // namespace

std::string TakeSslError() {
  const unsigned long code = ERR_peek_error();
  std::array<char, 256> text{};
  if (const char* reason = ERR_reason_error_string(code); reason != nullptr) {
    ERR_clear_error();
    return reason;
  }
  ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

TlsContext::TlsContext() : context_(SSL_CTX_new(TLS_server_method())) {}

std::shared_ptr<const TlsContext> TlsContext::Read(const TlsOptions& options, std::string& error) {
  ERR_clear_error();
  const std::shared_ptr<TlsContext> context(new TlsContext);
  if (context->context_ == nullptr) {
    error = "TLS: " + TakeSslError();
    return nullptr;
  }
  error = context->Configure(options);
  if (error.empty()) error = context->ReadCertificates(options);
  if (error.empty()) error = context->ReadAuthorities(options);
  if (!error.empty()) return nullptr;
  context->Describe();
  return context;
}

std::string TlsContext::Configure(const TlsOptions& options) {
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // Sessions are resumed by tickets, which, unlike a cache, need no memory in the server.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, kSessionSeconds);
  SSL_CTX_set_session_id_context(context,
                                 reinterpret_cast<const unsigned char*>(kSessionIdContext.data()),
                                 static_cast<unsigned>(kSessionIdContext.size()));
  SSL_CTX_set_default_passwd_cb(context, RefuseToAsk);
  if (!options.ciphers.empty() && SSL_CTX_set_cipher_list(context, options.ciphers.c_str()) != 1) {
    return WrongFile("tls_ciphers", options.ciphers);
  }
  if (!options.ciphersuites.empty() &&
      SSL_CTX_set_ciphersuites(context, options.ciphersuites.c_str()) != 1) {
    return WrongFile("tls_ciphersuites", options.ciphersuites);
  }
  return "";
}

std::string TlsContext::ReadCertificates(const TlsOptions& options) {
  SSL_CTX* const context = context_.get();
  if (options.cert_file.empty() ||
      SSL_CTX_use_certificate_chain_file(context, options.cert_file.c_str()) != 1) {
    return WrongFile("tls_cert_file", options.cert_file);
  }
  // Also checks that the key matches the certificate.
  if (options.key_file.empty() ||
      SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return WrongFile("tls_key_file", options.key_file);
  }
  return "";
}

std::string TlsContext::ReadAuthorities(const TlsOptions& options) {
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_verify(context, VerifyModeOf(options.client_certificates), nullptr);
  if (options.client_certificates == ClientCertificates::kNotAsked) return "";
  if (options.ca_file.empty() || SSL_CTX_load_verify_file(context, options.ca_file.c_str()) != 1) {
    return WrongFile("tls_ca_file", options.ca_file);
  }
  // The names of the CAs are sent to clients; those with several certificates choose one by them.
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(options.ca_file.c_str());
  if (names == nullptr) return WrongFile("tls_ca_file", options.ca_file);
  SSL_CTX_set_client_CA_list(context, names);
  return "";
}

void TlsContext::Describe() {
  X509* const certificate = SSL_CTX_get0_certificate(context_.get());
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new(BIO_s_mem()), &BIO_free);
  X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  BIO_puts(text.get(), ", valid until ");
  ASN1_TIME_print(text.get(), X509_get0_notAfter(certificate));
  description_ = TextOf(text.get());
  is_out_of_time_ = X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 ||
                    X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0;
}

}  // namespace fairlock::net
