// One request on its way through its handler.
#pragma once

#include <cstdint>

#include "protocol/arguments.h"
#include "protocol/reply_writer.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Client;
struct ServerParts;

struct Invocation {
  ServerParts& server;
  Client& client;
  const protocol::Arguments& arguments;  // the name is the first; of a subcommand the second too
  protocol::ReplyWriter reply;
  engine::TimeMs now;
  // Of the first key that the row names, in this database; 0: not known.
  std::uint64_t key_hash = 0;
  bool has_script_failed = false;  // the reply is an error of a script, which is counted already
};

}  // namespace fairlock::command
