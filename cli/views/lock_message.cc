#include "cli/views/lock_message.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>

namespace fairlock::cli {

LockMessage::LockMessage(std::string_view text) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  if (!error && value.is_object()) object_ = value.get_object();
}

std::string LockMessage::Text(std::string_view name) const {
  const boost::json::value* const value = object_.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::int64_t LockMessage::Number(std::string_view name) const {
  const boost::json::value* const value = object_.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

bool LockMessage::EndsHold() const {
  constexpr auto kEnds =
      std::to_array<std::string_view>({"released", "expired", "disconnected", "broken", "undone"});
  return std::ranges::find(kEnds, Text("event")) != kEnds.end();
}

}  // namespace fairlock::cli
