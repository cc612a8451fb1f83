// One request, as its handler receives it, and the requests that are read ahead of it.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/arguments.h"
#include "protocol/reply_writer.h"
#include "protocol/request_parser.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Client;
struct ServerParts;

// Where a request comes from.
enum class Origin : std::uint8_t { kClient, kScript };

struct Invocation {
  ServerParts& server;
  Client& client;
  // These begin with the command's name, which for a subcommand takes two arguments.
  const protocol::Arguments& arguments;
  protocol::ReplyWriter reply;
  engine::TimeMs now;
  // The first key that the row names, in the client's database. Includes its hash if that has
  // already been computed.
  engine::KeyName key;
  bool has_script_failed = false;  // the reply is a script's error, which has already been counted
  bool is_own_affair = false;      // an audited command that has not touched what others asked for
};

// A request found in the input, not yet executed.
struct RequestAhead {
  protocol::Arguments arguments;  // views into the input
  std::size_t row = 0;            // index of its first word in the command table, or kNone
  engine::KeyName key;            // the first key that the row names; hash 0: there is none
  std::size_t end = 0;            // end of its bytes in the input
};

// How many requests are read at a time, so that the memory of their keys is being fetched into the
// cache while other requests are read and executed. Scratch space for Consume, shared by all
// clients of a loop.
struct RequestWindow {
  static constexpr std::size_t kSize = 16;

  std::array<RequestAhead, kSize> requests;
  std::size_t count = 0;
  // What follows the requests in the input: kRequest if the window is full, otherwise why there are
  // no more requests.
  protocol::ParseResult last;
  std::size_t end = 0;  // the input is read up to here
};

}  // namespace fairlock::command
