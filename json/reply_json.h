// Replies as JSON.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "protocol/reply.h"

namespace fairlock::json {

// Adds `name`. Bytes that are not UTF-8 become U+FFFD there, and a field `name_base64` has them
// all.
void AddText(boost::json::object& object, std::string_view name, std::string_view bytes);

// The same of any reply: maps are objects, arrays are arrays, nil is null.
void AddReply(boost::json::object& object, std::string_view name, const protocol::Reply& reply);

// A reply that is a map, field by field in the server's order.
boost::json::object ObjectOf(const protocol::Reply& map);

// In one line.
std::string Written(const boost::json::value& value);

}  // namespace fairlock::json
