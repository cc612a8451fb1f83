// One request as its handler receives it.
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
  const protocol::Arguments& arguments;  // begin with the name, of a subcommand with two words
  protocol::ReplyWriter reply;
  engine::TimeMs now;
  // The first key that the row names, with its hash if that was already computed, in the client's
  // database.
  engine::KeyName key;
  bool has_script_failed = false;  // the reply is a script's error, which is already counted
};

}  // namespace fairlock::command
