#include "storage/etcd/etcd_options.h"

#include <algorithm>
#include <optional>

#include "text/address.h"
#include "text/ascii.h"
#include "text/file.h"
#include "text/number.h"

namespace fairlock::storage::etcd {
namespace {

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
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
  const auto [host, port] = text::SplitAddress(text);
  const auto number = text::ParseNumber<std::uint16_t>(port.value_or("")).value_or(0);
  if (!IsHost(host) || number == 0) return std::nullopt;
  endpoint.address = text;
  return endpoint;
}

}  // namespace

Result<std::vector<EtcdEndpoint>> ParseEndpoints(std::string_view text) {
  std::vector<EtcdEndpoint> endpoints;
  while (true) {
    const auto comma = text.find(',');
    const std::string_view word = text::Trimmed(text.substr(0, comma), " \t");
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
  const text::FileContent file = text::ReadFile(path);
  if (file.bytes.empty()) return Failed("cannot read a password from " + path);
  return file.bytes.substr(0, file.bytes.find('\n'));
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
