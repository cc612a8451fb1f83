// The parameters of HELLO.
#pragma once

#include <optional>
#include <string>

#include "protocol/reply_writer.h"

namespace fairlock::command {

// The parameters of HELLO other than the log-in.
struct Greeting {
  std::optional<protocol::RespVersion> version;
  std::optional<std::string> name;
};

}  // namespace fairlock::command
