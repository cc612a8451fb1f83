#include "server/net/sockets/last_words.h"

#include <sys/socket.h>

namespace fairlock::net {

void SendLastWords(int socket, std::string_view words) {
  [[maybe_unused]] const ssize_t sent =
      ::send(socket, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void EndInGoodOrder(int socket) {
  constexpr int kReadsMax = 16;
  char bytes[4096];
  ::shutdown(socket, SHUT_WR);
  for (int i = 0; i < kReadsMax; ++i) {
    if (::recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) return;
  }
}

}  // namespace fairlock::net
