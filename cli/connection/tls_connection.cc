#include "cli/connection/tls_connection.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

#include "cli/output/printable.h"

namespace fairlock::cli {

namespace {

// TLS alerts with which a server rejects the client's certificate.
constexpr std::array kRefusedCertificate = {
    SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, SSL_R_TLSV1_ALERT_UNKNOWN_CA,
    SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,   SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
    SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,   SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
    SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,   SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE};

std::string TakeError(int* reason = nullptr) {
  const unsigned long code = ERR_peek_error();
  if (reason != nullptr) *reason = ERR_GET_REASON(code);
  const char* const text = ERR_reason_error_string(code);
  std::string error = ERR_SYSTEM_ERROR(code) ? std::strerror(ERR_GET_REASON(code))
                      : text != nullptr      ? text
                                             : "unknown format";
  ERR_clear_error();
  return error;
}

// Prevents OpenSSL from asking for the key's password on the terminal.
int RefuseToAsk(char*, int, int, void*) { return 0; }

std::string WrongFile(const std::string& path, std::string_view flag) {
  return std::string(flag) + " must be a readable PEM file, got " + Quoted(path) + ": " +
         TakeError();
}

// A socket BIO of our own: OpenSSL's raises SIGPIPE when the server has closed the connection.
int NumberOf(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int ReadSocket(BIO* bio, char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = ::recv(NumberOf(bio), bytes, static_cast<std::size_t>(count), 0);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

int WriteSocket(BIO* bio, const char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(NumberOf(bio), bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

long ControlSocket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO* NewSocketBio(int socket) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_read(made, ReadSocket);
    BIO_meth_set_write(made, WriteSocket);
    BIO_meth_set_ctrl(made, ControlSocket);
    return made;
  }();
  BIO* const bio = BIO_new(method);
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace

Result<std::unique_ptr<TlsConnection>> TlsConnection::Make(const Settings& settings,
                                                           const std::string& host, int socket) {
  ERR_clear_error();
  std::unique_ptr<TlsConnection> made(new TlsConnection);
  made->context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const context = made->context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(context, RefuseToAsk);
  SSL_CTX_set_verify(context, settings.tls_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  const std::string wrong = made->ReadFiles(settings);
  if (!wrong.empty()) return Failure{kExitWrongUse, wrong};
  made->ssl_.reset(SSL_new(context));
  const std::string& name = settings.tls_server_name.empty() ? host : settings.tls_server_name;
  if (!made->Expect(name)) {
    return Failure{kExitWrongUse,
                   std::string(settings.tls_server_name.empty() ? "--host" : "--tls-server-name") +
                       " must be a name or an address that a certificate can contain, got " +
                       Quoted(name)};
  }
  BIO* const bio = NewSocketBio(socket);
  SSL_set_bio(made->ssl_.get(), bio, bio);
  SSL_set_connect_state(made->ssl_.get());
  return made;
}

std::string TlsConnection::ReadFiles(const Settings& settings) {
  SSL_CTX* const context = context_.get();
  if (settings.tls_ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_file(context, settings.tls_ca_file.c_str()) != 1) {
    return WrongFile(settings.tls_ca_file, "--tls-ca-file");
  }
  if (settings.tls_cert_file.empty() != settings.tls_key_file.empty()) {
    return "--tls-cert-file and --tls-key-file must be given together, got only one of them";
  }
  if (settings.tls_cert_file.empty()) return "";
  if (SSL_CTX_use_certificate_chain_file(context, settings.tls_cert_file.c_str()) != 1) {
    return WrongFile(settings.tls_cert_file, "--tls-cert-file");
  }
  if (SSL_CTX_use_PrivateKey_file(context, settings.tls_key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return WrongFile(settings.tls_key_file, "--tls-key-file");
  }
  return "";
}

bool TlsConnection::Expect(const std::string& name) {
  X509_VERIFY_PARAM* const expected = SSL_get0_param(ssl_.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) == 1) return true;
  ERR_clear_error();
  // This sets SNI, because a server with several certificates selects one by this name.
  return SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) == 1 &&
         X509_VERIFY_PARAM_set1_host(expected, name.c_str(), name.size()) == 1;
}

TlsConnection::Step TlsConnection::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Step::kDone;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ) return Step::kNeedsToRead;
  if (error == SSL_ERROR_WANT_WRITE) return Step::kNeedsToWrite;
  RememberProblem(error);
  return Step::kFailed;
}

ssize_t TlsConnection::Receive(std::span<char> buffer) {
  ERR_clear_error();
  const auto size = static_cast<int>(std::min<std::size_t>(buffer.size(), INT_MAX));
  return ResultOf(SSL_read(ssl_.get(), buffer.data(), size));
}

ssize_t TlsConnection::Send(std::string_view bytes) {
  ERR_clear_error();
  const auto size = static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX));
  return ResultOf(SSL_write(ssl_.get(), bytes.data(), size));
}

ssize_t TlsConnection::ResultOf(int result) {
  if (result > 0) return result;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_ZERO_RETURN) return 0;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    errno = EAGAIN;
  } else {
    RememberProblem(error);
    errno = system_error_ != 0 ? system_error_ : EPROTO;
  }
  return -1;
}

void TlsConnection::RememberProblem(int error) {
  system_error_ = error == SSL_ERROR_SYSCALL ? errno : 0;
  if (error == SSL_ERROR_SSL) {
    text_ = TakeError(&reason_);
  } else {
    text_ = system_error_ != 0 ? std::strerror(system_error_) : "the connection was closed";
  }
}

Failure TlsConnection::Problem(const std::string& server) const {
  const long verified = SSL_get_verify_result(ssl_.get());
  if (reason_ == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    const bool is_name =
        verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH;
    const std::string advice = is_name ? "--tls-server-name sets the expected name"
                                       : "--tls-ca-file sets the certificate authorities to trust";
    return {kExitUnreachable, "the certificate of " + server + " is not trusted: " +
                                  X509_verify_cert_error_string(verified) + "; " + advice};
  }
  if (std::ranges::find(kRefusedCertificate, reason_) != kRefusedCertificate.end()) {
    return {kExitNotAllowed, server + " rejected the client certificate, or requires one (" +
                                 text_ + "); see --tls-cert-file and --tls-key-file"};
  }
  if (reason_ == SSL_R_WRONG_VERSION_NUMBER) {
    return {kExitUnreachable,
            server + " does not use TLS on this port; give its TLS port, or omit --tls"};
  }
  return {kExitUnreachable, "the TLS handshake with " + server + " failed: " + text_ +
                                "; the log of fairlockd says why"};
}

}  // namespace fairlock::cli
