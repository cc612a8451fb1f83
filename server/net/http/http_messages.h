// What Beast reads as our requests, and our answers as Beast writes them.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "server/http/exchange.h"

namespace fairlock::net {

// The answer to a request that RFC 9112, section 3.2, forbids a server to serve: Host is missing,
// is no host, or is given more than once, as another header of ours that may not be. None: it is
// valid.
std::optional<http::Answer> RefusalOfHeaders(const boost::beast::http::fields& headers);

http::Request ToRequest(
    const boost::beast::http::request<boost::beast::http::string_body>& message);

boost::beast::http::response<boost::beast::http::string_body> ToResponse(http::Answer answer,
                                                                         bool is_kept_alive);

}  // namespace fairlock::net
