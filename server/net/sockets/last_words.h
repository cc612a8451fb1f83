// The end of a connection whose requests are not read.
#pragma once

#include <string_view>

namespace fairlock::net {

// Sends what the socket's buffer takes; a new socket takes a few lines.
void SendLastWords(int socket, std::string_view words);

// Before the close: ends the sending side and reads some of what has arrived. Closing with unread
// bytes would reset the connection, and the peer might not see the last words.
void EndInGoodOrder(int socket);

}  // namespace fairlock::net
