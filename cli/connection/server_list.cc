#include "cli/connection/server_list.h"

#include <algorithm>

#include "text/address.h"
#include "text/ascii.h"
#include "text/number.h"

namespace fairlock::cli {

namespace {

// The port follows the colon. If `colon_and_port` is empty, no port is given.
std::optional<ServerAddress> WithPort(std::string_view host, std::string_view colon_and_port) {
  if (host.empty()) return std::nullopt;
  if (colon_and_port.empty()) return ServerAddress{std::string(host)};
  const auto port = text::ParseNumber<std::uint16_t>(colon_and_port.substr(1)).value_or(0);
  if (!colon_and_port.starts_with(':') || port == 0) return std::nullopt;
  return ServerAddress{std::string(host), port};
}

std::optional<ServerAddress> ParseServer(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    return WithPort(text.substr(1, end - 1), text.substr(end + 1));
  }
  // A text with more than one colon is an IPv6 address without a port.
  const bool has_port = std::ranges::count(text, ':') == 1;
  const std::size_t colon = has_port ? text.find(':') : text.size();
  return WithPort(text.substr(0, colon), text.substr(colon));
}

}  // namespace

std::string NameOf(const ServerAddress& server) {
  return text::JoinAddress(server.host, server.port);
}

std::optional<std::vector<ServerAddress>> ParseServers(std::string_view list) {
  std::vector<ServerAddress> servers;
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    auto server = ParseServer(text::Trimmed(list.substr(0, comma), " "));
    if (!server || servers.size() == kServersMax) return std::nullopt;
    servers.push_back(std::move(*server));
    if (comma == list.size()) return servers;
    list.remove_prefix(comma + 1);
  }
}

Settings SettingsFor(const ServerAddress& server, Settings settings) {
  settings.host = NameOf(server);
  settings.socket.clear();
  return settings;
}

ServerList::ServerList(const Settings& settings) {
  if (!settings.socket.empty()) {
    is_socket_ = true;
    listed_ = 1;
    servers_.push_back({settings.socket});
    names_.push_back("unix:" + settings.socket);
    return;
  }
  servers_ = *ParseServers(settings.host);
  for (ServerAddress& server : servers_) {
    if (server.port == 0) server.port = settings.port;
    names_.push_back(NameOf(server));
  }
  listed_ = servers_.size();
}

void ServerList::BeginRound() {
  tried_ = 0;
  found_standby_ = false;
  reasons_.clear();
}

bool ServerList::TryNext(const std::string& reason, bool is_standby) {
  found_standby_ = found_standby_ || is_standby;
  reasons_.append(reasons_.empty() ? "" : "; ").append(name()).append(": ").append(reason);
  Advance();
  return ++tried_ < servers_.size();
}

void ServerList::Redirect(ServerAddress server) {
  if (servers_.size() == listed_) {
    servers_.emplace(servers_.begin());
    names_.emplace(names_.begin());
  }
  names_.front() = NameOf(server);
  servers_.front() = std::move(server);
  current_ = 0;
}

}  // namespace fairlock::cli
