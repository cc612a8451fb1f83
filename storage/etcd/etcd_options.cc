#include "storage/etcd/etcd_options.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

namespace fairlock::storage::etcd {
namespace {

constexpr std::string_view kSpaces = " \t";
constexpr int kPortMax = 65'535;

std::string_view WithoutSpaces(std::string_view text) {
  const auto begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool IsPort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port <= kPortMax;
}

// Whether the string is a host. An IPv6 address must be in brackets, which separate it from its
// port.
bool IsHost(std::string_view text) {
  if (text.starts_with('[')) {
    return text.size() > 2 && text.find(']') == text.size() - 1 &&
           text.find_first_of("/@, \t") == std::string_view::npos;
  }
  return !text.empty() && text.find_first_of(":/@[], \t") == std::string_view::npos;
}

std::optional<EtcdEndpoint> ParseEndpoint(std::string_view text) {
  EtcdEndpoint endpoint;
  endpoint.is_tls = TakePrefix(text, "https://");
  if (!endpoint.is_tls) TakePrefix(text, "http://");
  if (text.ends_with('/')) text.remove_suffix(1);
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  if (!IsHost(text.substr(0, colon)) || !IsPort(text.substr(colon + 1))) return std::nullopt;
  endpoint.address = text;
  return endpoint;
}

}  // namespace

Result<std::vector<EtcdEndpoint>> ParseEndpoints(std::string_view text) {
  std::vector<EtcdEndpoint> endpoints;
  while (true) {
    const auto comma = text.find(',');
    const std::string_view word = WithoutSpaces(text.substr(0, comma));
    const auto endpoint = ParseEndpoint(word);
    if (!endpoint) {
      return Refused("must be a list of [http://|https://]host:port, got \"" + std::string(word) +
                     "\"");
    }
    if (std::ranges::find(endpoints, *endpoint) != endpoints.end()) {
      return Refused("must name each endpoint once, got \"" + std::string(word) + "\" twice");
    }
    endpoints.push_back(*endpoint);
    if (comma == std::string_view::npos) return endpoints;
    text.remove_prefix(comma + 1);
  }
}

Result<std::string> ReadPasswordFile(const std::string& path) {
  std::ifstream file(path);
  std::string password;
  if (!std::getline(file, password)) return Failed("cannot read a password from " + path);
  return password;
}

Status CheckOptions(const EtcdOptions& options) {
  if (options.endpoints.empty()) return Refused("etcd needs at least one endpoint");
  if (options.cert_file.empty() != options.key_file.empty()) {
    return Refused("etcd needs the client's certificate and its key, or neither");
  }
  const bool has_tls = std::ranges::any_of(options.endpoints, &EtcdEndpoint::is_tls);
  if (!has_tls && !(options.ca_file.empty() && options.cert_file.empty())) {
    return Refused("certificates for etcd need an endpoint with https://");
  }
  if (options.user.empty() && !options.password.empty()) {
    return Refused("a password for etcd needs a user");
  }
  if (options.attempt_timeout.count() <= 0) {
    return Refused("the timeout for an attempt must be at least 1 ms");
  }
  return {};
}

}  // namespace fairlock::storage::etcd
