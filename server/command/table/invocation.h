// One request, as its handler receives it.
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

}  // namespace fairlock::command
