// The answer to HELLO.
#pragma once

#include "server/command/client/client.h"
#include "server/command/client/client_registry.h"
#include "server/command/client/greeting.h"

namespace fairlock::command {

// Does what HELLO asks for, and answers in the version that it asks for.
void Greet(Client& client, ClientRegistry& clients, const Greeting& greeting);

}  // namespace fairlock::command
