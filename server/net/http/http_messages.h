// Converts between the messages of Beast and our requests and answers.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string_view>

#include "server/http/exchange.h"

namespace fairlock::net {

// The answer to a request that a server must reject according to RFC 9112, section 3.2: Host is
// missing or is not a host, or Host or another header that we use is given more than once. None if
// the request is valid.
std::optional<http::Answer> RefusalOfHeaders(const boost::beast::http::fields& headers);

// The header by which a node marks the requests that it passes on.
inline constexpr std::string_view kForwardedHeader = "Fairlock-Forwarded";

http::Request ToRequest(
    const boost::beast::http::request<boost::beast::http::string_body>& message);

boost::beast::http::response<boost::beast::http::string_body> ToResponse(http::Answer answer,
                                                                         bool is_kept_alive);

}  // namespace fairlock::net
