#include "server/net/http/http_messages.h"

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "server/command/table/text.h"
#include "server/http/target.h"

namespace fairlock::net {

namespace beast_http = boost::beast::http;

namespace {

http::Verb VerbOf(beast_http::verb verb) {
  switch (verb) {
    case beast_http::verb::get:
    case beast_http::verb::head:
      return http::Verb::kGet;
    case beast_http::verb::post:
      return http::Verb::kPost;
    case beast_http::verb::lock:
      return http::Verb::kLock;
    case beast_http::verb::unlock:
      return http::Verb::kUnlock;
    default:
      return http::Verb::kOther;
  }
}

constexpr std::size_t kShownHostBytes = 64;

http::Answer BadHeader(const std::string& what) { return http::Refusal(400, "ERR", what); }

// The page loads nothing from other hosts, runs only the scripts in its files, and cannot be
// framed.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

}  // namespace

std::optional<http::Answer> RefusalOfHeaders(const beast_http::fields& headers) {
  using beast_http::field;
  // If a header had two values, a proxy might use a different one than this server.
  for (const field name : {field::host, field::origin, field::content_type, field::authorization}) {
    if (headers.count(name) < 2) continue;
    return BadHeader("the header " + std::string(beast_http::to_string(name)) +
                     " is given more than once; only one is allowed");
  }
  const std::string host(headers[field::host]);
  if (host.empty()) return BadHeader("the Host header is missing");
  if (http::ParseHost(host)) return std::nullopt;
  return BadHeader("Host must be a name or an address, with an optional port, got " +
                   command::Quoted(host, kShownHostBytes));
}

http::Request ToRequest(const beast_http::request<beast_http::string_body>& message) {
  http::Request request{.verb = VerbOf(message.method()),
                        .target = message.target(),
                        .host = message[beast_http::field::host],
                        .origin = message[beast_http::field::origin],
                        .content_type = message[beast_http::field::content_type],
                        .authorization = message[beast_http::field::authorization],
                        .known_tag = message[beast_http::field::if_none_match],
                        .body = message.body(),
                        .is_forwarded = message.count(kForwardedHeader) > 0};
  request.partition = http::TakePartition(request.target);
  return request;
}

beast_http::response<beast_http::string_body> ToResponse(http::Answer answer, bool is_kept_alive) {
  using beast_http::field;
  beast_http::response<beast_http::string_body> response;
  const auto set = [&response](field name, std::string_view value) {
    if (!value.empty()) response.set(name, {value.data(), value.size()});
  };
  response.version(11);
  response.result(answer.status);
  set(field::server, "fairlock");
  set(field::content_type, answer.content_type);
  set(field::content_encoding, answer.content_encoding);
  set(field::allow, answer.allowed_verbs);
  set(field::etag, answer.tag);
  set(field::cache_control, answer.tag.empty() ? "no-store" : "no-cache");
  response.set("Content-Security-Policy", kContentSecurityPolicy);
  set(field::x_frame_options, "DENY");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  if (answer.status == 401) set(field::www_authenticate, "Bearer");
  if (answer.status == 426) {
    set(field::upgrade, "websocket");
    set(field::connection, "Upgrade");
  }
  response.keep_alive(is_kept_alive);
  response.body() = std::move(answer.body);
  response.prepare_payload();
  return response;
}

}  // namespace fairlock::net
