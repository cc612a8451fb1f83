#include "server/http/target.h"

#include <algorithm>
#include <boost/url/authority_view.hpp>
#include <boost/url/host_type.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>

namespace fairlock::http {

const std::string* Target::FindParameter(std::string_view name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [name](const auto& one) { return one.first == name; });
  return found == parameters.end() ? nullptr : &found->second;
}

std::optional<Target> ParseTarget(std::string_view target) {
  const auto parsed = boost::urls::parse_origin_form({target.data(), target.size()});
  if (!parsed) return std::nullopt;
  // In a query, browsers write a space as '+'; in a path they do not.
  boost::urls::encoding_opts as_form;
  as_form.space_as_plus = true;
  Target result;
  for (const auto segment : parsed->segments()) result.segments.emplace_back(segment);
  for (const auto parameter : parsed->params(as_form)) {
    result.parameters.emplace_back(parameter.key, parameter.value);
  }
  return result;
}

std::optional<std::uint32_t> TakePartition(std::string& target) {
  constexpr std::string_view kBase = "/api/v1/";
  constexpr std::string_view kPrefix = "/api/v1/partitions/";
  if (!target.starts_with(kPrefix)) return std::nullopt;
  std::uint32_t partition = 0;
  const char* const first = target.data() + kPrefix.size();
  const char* const end = target.data() + target.size();
  const auto [stop, error] = std::from_chars(first, end, partition);
  if (error != std::errc() || stop == end || *stop != '/') return std::nullopt;
  target.erase(kBase.size(), static_cast<std::size_t>(stop + 1 - target.data()) - kBase.size());
  return partition;
}

namespace {

// port_number() is 0 for a number above 65535.
bool IsPort(const boost::urls::authority_view& authority) {
  return !authority.has_port() || authority.port().empty() || authority.port_number() != 0;
}

}  // namespace

std::optional<Host> ParseHost(std::string_view text) {
  using boost::urls::host_type;
  const auto parsed = boost::urls::parse_authority({text.data(), text.size()});
  if (!parsed || parsed->has_userinfo() || !IsPort(*parsed)) return std::nullopt;
  const host_type type = parsed->host_type();
  if (type == host_type::none || type == host_type::ipvfuture || parsed->host().empty()) {
    return std::nullopt;
  }
  return Host{.name = std::string(parsed->encoded_host()),
              .is_address = type == host_type::ipv4 || type == host_type::ipv6};
}

}  // namespace fairlock::http
