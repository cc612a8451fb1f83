// The answer to HELLO.
#pragma once

#include <optional>
#include <string>

#include "protocol/reply_writer.h"

namespace fairlock::command {

class Client;

// What HELLO asks for besides a log-in.
struct Greeting {
  std::optional<protocol::RespVersion> version;
  std::optional<std::string> name;
};

// Does it, and answers in the version that is asked for.
void Greet(Client& client, const Greeting& greeting);

}  // namespace fairlock::command
