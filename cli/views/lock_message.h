// A message of a lock's channel: one event, as JSON.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlock::cli {

// A field that is missing or null counts as empty or 0.
class LockMessage {
 public:
  explicit LockMessage(std::string_view text);

  std::string Text(std::string_view name) const;
  std::int64_t Number(std::string_view name) const;

  // The hold with the message's token is over.
  bool EndsHold() const;

 private:
  boost::json::object object_;
};

}  // namespace fairlock::cli
