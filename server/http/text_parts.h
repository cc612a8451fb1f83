// Takes apart the texts that some commands answer with.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

namespace fairlock::http {

// The text before `end`, or all; it and `end` are removed from `rest`.
std::string_view TakeUpTo(std::string_view& rest, std::string_view end);

// A whole number as such, all else as text.
void AddNumberOrText(boost::json::object& object, std::string_view name, std::string_view value);

}  // namespace fairlock::http
