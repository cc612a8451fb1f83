// Parses the text with which some commands reply.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

namespace fairlock::http {

// Returns the text before `end`, or all of it; removes it and `end` from `rest`.
std::string_view TakeUpTo(std::string_view& rest, std::string_view end);

// Adds a whole number as a number, and any other text as a string.
void AddNumberOrText(boost::json::object& object, std::string_view name, std::string_view value);

}  // namespace fairlock::http
