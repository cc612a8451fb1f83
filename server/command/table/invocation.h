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
  // The first key that the row names, with its hash if that is known already; its database is the
  // client's.
  engine::KeyName key;
  bool has_script_failed = false;  // the reply is an error of a script, which is counted already
};

}  // namespace fairlock::command
