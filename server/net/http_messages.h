// What Beast reads as our requests, and our answers as Beast writes them.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "server/http/exchange.h"

namespace fairlock::net {

http::Request ToRequest(
    const boost::beast::http::request<boost::beast::http::string_body>& message);

boost::beast::http::response<boost::beast::http::string_body> ToResponse(http::Answer answer,
                                                                         bool is_kept_alive);

}  // namespace fairlock::net
