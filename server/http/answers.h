// What commands reply, as answers.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "protocol/reply.h"
#include "server/http/exchange.h"

namespace fairlock::http {

Answer JsonAnswer(const boost::json::object& object);

// An error reply as a refusal: its first word is the code, and decides the status.
Answer RefusalOf(const protocol::Reply& error);

// An object with one field, whatever the reply; a refusal if it is an error.
Answer AnswerWith(std::string_view field, const protocol::Reply& reply);

}  // namespace fairlock::http
