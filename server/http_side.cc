#include "server/http_side.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "server/net/listening_socket.h"

namespace fairlock::server {

namespace {

constexpr std::size_t kTokenBytesMin = 16;

bool IsLoopback(std::string_view address) {
  if (address.starts_with('-')) address.remove_prefix(1);
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

std::optional<std::string> ReadToken(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!(file >> token) || token.size() < kTokenBytesMin) return std::nullopt;
  return token;
}

net::ListenOptions ListenOptionsOf(const Config& config) {
  return {.bind = config.http_bind,
          .port = static_cast<std::uint16_t>(config.http_port),
          .unix_path = "",
          .port_option = "--http-port",
          .bind_option = "--http-bind"};
}

}  // namespace

HttpSide::HttpSide(net::TurnLoop& loop, const Config& config, Log& log)
    : loop_(loop),
      log_(log),
      api_({}, {}),
      connections_(loop, api_, static_cast<std::size_t>(config.http_max_clients)) {}

std::string HttpSide::Start(const Config& config) {
  if (config.http_port == 0) return "";
  http::ApiOptions options{.host_names = config.http_hosts};
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
    return "http_bind has an address that others can reach: give --http-token-file too, or bind to "
           "127.0.0.1";
  }
  api_.set_options(std::move(options));
  net::ListenResult listening = net::Listen(ListenOptionsOf(config));
  if (!listening.error.empty()) return listening.error;
  for (const net::ListeningSocket& socket : listening.sockets) {
    log_.Info("HTTP on {}", socket.name);
  }
  loop_.StartListening(std::move(listening.sockets), &connections_);
  return "";
}

}  // namespace fairlock::server
