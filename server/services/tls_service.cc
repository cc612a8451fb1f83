#include "server/services/tls_service.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "server/config/config_file.h"
#include "server/config/config_options.h"

namespace fairlock::server {

namespace {

constexpr std::string_view kRespAnswer =
    "-ERR this port speaks TLS only; connect with TLS, as `redis-cli --tls` and `fairlockctl "
    "--tls` do\r\n";
constexpr std::string_view kHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 35\r\n"
    "Connection: close\r\n\r\nthis port speaks HTTPS; use https:\n";

net::TlsOptions OptionsOf(const Config& config) {
  return {.cert_file = config.tls_cert_file,
          .key_file = config.tls_key_file,
          .ca_file = config.tls_ca_file,
          .client_certificates = config.tls_auth_clients,
          .ciphers = config.tls_ciphers,
          .ciphersuites = config.tls_ciphersuites};
}

std::unique_ptr<net::TlsHandshakes> MakeHandshakes(net::TurnLoop& loop,
                                                   net::TlsConnectionSink& sink,
                                                   const Config& config, std::string_view answer) {
  return std::make_unique<net::TlsHandshakes>(
      loop.io_context(), loop.turn(), sink,
      net::TlsHandshakeOptions{
          .handshake_max = std::chrono::milliseconds(config.tls_handshake_timeout),
          .handshakes_max = static_cast<std::size_t>(config.tls_max_handshakes),
          .plain_answer = answer});
}

}  // namespace

// Refuses security options that protect no port, so that a mistake is noticed at the start.
std::string CheckTls(const Config& config) {
  const bool asks_clients = config.tls_auth_clients != net::ClientCertificates::kNotAsked;
  if (config.tls_auth_clients_user && !asks_clients) {
    return "tls_auth_clients_user: cn: no client is asked for a certificate; tls_auth_clients must "
           "be optional or required";
  }
  if (config.tls_port != 0) return "";
  if (asks_clients) {
    return "tls_auth_clients: " + ShowOption(*FindOption("tls_auth_clients"), config) +
           ": applies only to clients of tls_port; tls_port must be set too";
  }
  if (!config.tls_cert_file.empty() && !config.http_tls) {
    return "tls_cert_file: no port speaks TLS; tls_port must be set, or http_tls must be yes";
  }
  return "";
}

std::string TlsService::Start(const Config& config, net::TlsConnectionSink& http) {
  const bool is_http_wanted = config.http_port != 0 && config.http_tls;
  if (std::string error = CheckTls(config); !error.empty()) return error;
  if (config.tls_port == 0 && !is_http_wanted) return "";
  if (config.tls_port != 0) resp_ = MakeHandshakes(loop_, loop_.connections(), config, kRespAnswer);
  loop_.connections().set_certificates_log_in(config.tls_auth_clients_user);
  if (is_http_wanted) http_ = MakeHandshakes(loop_, http, config, kHttpAnswer);
  return ReadCertificates(config);
}

std::string TlsService::ReadCertificates(const Config& config) {
  std::string error = CheckFiles(config);
  if (!error.empty()) return error;
  net::TlsOptions options = OptionsOf(config);
  const auto resp = net::TlsContext::Read(options, error);
  if (resp == nullptr) return error;
  // Browsers and metrics collectors have no certificates, so HTTP clients authenticate with the
  // token.
  options.client_certificates = net::ClientCertificates::kNotAsked;
  const auto http = net::TlsContext::Read(options, error);
  if (http == nullptr) return error;
  if (resp_ != nullptr) resp_->set_context(resp);
  if (http_ != nullptr) http_->set_context(http);
  if (resp->is_out_of_time()) {
    log_.Warning("TLS: the certificate is not valid now: {}", Escaped(resp->description()));
  } else {
    log_.Info("TLS: the certificate is {}", Escaped(resp->description()));
  }
  return "";
}

void TlsService::Reload(const Config& config) {
  AssertInLoop();
  if (resp_ == nullptr && http_ == nullptr) return;
  const std::string error = ReadCertificates(config);
  if (!error.empty()) {
    log_.Error("SIGHUP: the TLS certificates were not reloaded: {}", error);
  }
}

}  // namespace fairlock::server
