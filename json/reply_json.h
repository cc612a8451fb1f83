// Converts replies to JSON.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "protocol/reply.h"

namespace fairlock::json {

// Adds the field `name`. Bytes that are not valid UTF-8 become U+FFFD in it; if there are any, an
// additional field `name_base64` contains the original bytes.
void AddText(boost::json::object& object, std::string_view name, std::string_view bytes);

// Does the same for any reply: maps become objects, arrays become arrays, nil becomes null.
void AddReply(boost::json::object& object, std::string_view name, const protocol::Reply& reply);

// Converts a map reply to an object with the fields in the server's order.
boost::json::object ObjectOf(const protocol::Reply& map);

// Serializes the value on one line.
std::string Written(const boost::json::value& value);

}  // namespace fairlock::json
