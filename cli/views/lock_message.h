// A message on a lock's channel: one event, as JSON.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlock::cli {

// Missing and null fields read as empty or 0.
class LockMessage {
 public:
  explicit LockMessage(std::string_view text);

  std::string Text(std::string_view name) const;
  std::int64_t Number(std::string_view name) const;

  // Whether the event ends the hold that the message's token names.
  bool EndsHold() const;

 private:
  boost::json::object object_;
};

}  // namespace fairlock::cli
