#include "tests/unit/storage/etcd/drop_connection.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>

namespace fairlock::storage::etcd {
namespace {

// Returns the port at the other end of a TCP connection; 0 for any other descriptor.
int PeerPort(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return 0;
}

}  // namespace

void DropConnection(const std::string& peer) {
  const int port = std::stoi(peer.substr(peer.rfind(':') + 1));
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    if (PeerPort(descriptor) != port) continue;
    shutdown(descriptor, SHUT_RDWR);
    return;
  }
  ADD_FAILURE() << "no connection with " << peer;
}

}  // namespace fairlock::storage::etcd
