// Writes the reply to HELLO.
#pragma once

#include "server/command/client/client.h"
#include "server/command/client/client_registry.h"
#include "server/command/client/greeting.h"

namespace fairlock::command {

// Applies HELLO, and replies in the protocol version that it selects. `leads`: the server is not a
// standby.
void Greet(Client& client, ClientRegistry& clients, const Greeting& greeting, bool leads);

}  // namespace fairlock::command
