// What HELLO asks for.
#pragma once

#include <optional>
#include <string>

#include "protocol/reply_writer.h"

namespace fairlock::command {

// What HELLO asks for besides a log-in.
struct Greeting {
  std::optional<protocol::RespVersion> version;
  std::optional<std::string> name;
};

}  // namespace fairlock::command
