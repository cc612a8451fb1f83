// Ends connections whose requests are not read.
#pragma once

#include <string_view>

namespace fairlock::net {

// Sends as much as fits into the socket's buffer, which is a few lines for a new socket.
void SendLastWords(int socket, std::string_view words);

// Call this before closing the socket. Ends the sending side and reads some of what has arrived:
// closing with unread bytes would reset the connection, and the peer might not see the last words.
void EndInGoodOrder(int socket);

}  // namespace fairlock::net
