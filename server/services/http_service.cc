#include "server/services/http_service.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "dashboard/files.h"
#include "server/config/config_values.h"
#include "server/net/clock.h"
#include "server/net/sockets/listening_socket.h"
#include "text/ascii.h"
#include "text/file.h"

namespace fairlock::server {

namespace {

constexpr std::size_t kTokenBytesMin = 16;
constexpr engine::DurationMs kMinuteMs = 60'000;

std::optional<std::string> ReadToken(const std::string& path) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const text::FileContent file = text::ReadFile(path);
  const std::string_view rest = text::Trimmed(file.bytes, kBlanks);
  const std::string_view token = rest.substr(0, rest.find_first_of(kBlanks));
  if (token.size() < kTokenBytesMin) return std::nullopt;
  return std::string(token);
}

std::vector<http::Asset> Page() {
  std::vector<http::Asset> page;
  for (const dashboard::File& file : dashboard::AllFiles()) {
    page.push_back({.path = file.path,
                    .content_type = file.content_type,
                    .content_encoding = "gzip",
                    .tag = fmt::format("\"{:x}\"", std::hash<std::string_view>()(file.bytes)),
                    .bytes = file.bytes});
  }
  return page;
}

net::ListenOptions HttpListenOptions(const Config& config) {
  return {.bind = config.http_bind,
          .port = static_cast<std::uint16_t>(config.http_port),
          .unix_path = "",
          .port_option = "--http-port",
          .bind_option = "--http-bind"};
}

}  // namespace

HttpService::HttpService(net::TurnLoop& loop, const Config& config, Log& log)
    : loop_(loop),
      log_(log),
      page_(Page()),
      minute_(loop.io_context(), [this] { NoteMinute(); }),
      api_({}, page_, figures_),
      connections_(loop, api_, static_cast<std::size_t>(config.http_max_clients),
                   config.tls_ca_file) {}

std::string HttpService::Start(const Config& config, net::TlsHandshakes* tls) {
  if (config.http_port == 0) return "";
  http::ApiOptions options{.host_names = config.http_hosts,
                           .is_https = tls != nullptr,
                           .wait_ms_max = config.http_wait_max,
                           .terraform_lease = std::to_string(config.terraform_lease)};
  if (!config.http_token_file.empty()) {
    std::optional<std::string> token = ReadToken(config.http_token_file);
    if (!token) {
      return "http_token_file: " + config.http_token_file +
             " cannot be read or has no word of at least 16 characters";
    }
    options.token = *std::move(token);
  }
  options.is_token_for_reading =
      !std::all_of(config.http_bind.begin(), config.http_bind.end(), IsLoopback);
  if (options.is_token_for_reading && options.token.empty()) {
    return "http_bind has an address that other machines can reach: give --http-token-file too, or "
           "bind to 127.0.0.1";
  }
  api_.set_options(std::move(options));
  net::ListenResult listening = net::Listen(HttpListenOptions(config));
  if (!listening.error.empty()) return listening.error;
  for (const net::ListeningSocket& socket : listening.sockets) {
    log_.Info("{} on {}", tls == nullptr ? "HTTP" : "HTTPS", socket.name);
  }
  net::ConnectionSink* const plain = &connections_;
  loop_.StartListening(std::move(listening.sockets), tls == nullptr ? plain : tls);
  NoteMinute();
  return "";
}

void HttpService::NoteMinute() {
  AssertInLoop();
  command::ServerParts& parts = loop_.turn().server;
  figures_.minutes.Note(http::MomentOf(parts, net::BoottimeMs()));
  minute_.Set(kMinuteMs);
}

void HttpService::Close() {
  minute_.Cancel();
  connections_.Close();
}

}  // namespace fairlock::server
