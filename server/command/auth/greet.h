// Writes the reply to HELLO.
#pragma once

#include "server/command/client/client.h"
#include "server/command/client/client_registry.h"
#include "server/command/client/greeting.h"
#include "server/command/environment/environment.h"

namespace fairlock::command {

// Applies HELLO, and replies in the protocol version that it selects.
void Greet(Client& client, ClientRegistry& clients, const Greeting& greeting,
           const Environment& environment);

}  // namespace fairlock::command
