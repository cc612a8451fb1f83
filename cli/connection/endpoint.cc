#include "cli/connection/endpoint.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "cli/output/printable.h"

namespace fairlock::cli {

namespace {

struct Found {
  int error = 0;  // the error of getaddrinfo()
  std::vector<Endpoint> endpoints;
};

Found Search(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  Found found;
  found.error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (found.error != 0) return found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    Endpoint endpoint;
    std::memcpy(&endpoint.address, entry->ai_addr, entry->ai_addrlen);
    endpoint.size = entry->ai_addrlen;
    found.endpoints.push_back(endpoint);
  }
  freeaddrinfo(list);
  return found;
}

}  // namespace

Result<Endpoint> UnixEndpoint(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof(address.sun_path)) {
    return Failure{kExitWrongUse, "--socket must be a path of at most " +
                                      std::to_string(sizeof(address.sun_path) - 1) +
                                      " bytes, got " + Quoted(path)};
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Endpoint endpoint;
  std::memcpy(&endpoint.address, &address, sizeof(address));
  endpoint.size = sizeof(address);
  return endpoint;
}

std::vector<Endpoint> NumericEndpoints(const std::string& host, std::uint16_t port) {
  return Search(host, port, AI_NUMERICHOST | AI_NUMERICSERV).endpoints;
}

struct HostLookup::Shared {
  Descriptor done{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> is_done = false;
  Found found;  // the owner reads it only when `is_done`
};

HostLookup::HostLookup(const std::string& host, std::uint16_t port)
    : shared_(std::make_shared<Shared>()) {
  std::thread([shared = shared_, host, port] {
    shared->found = Search(host, port, AI_ADDRCONFIG | AI_NUMERICSERV);
    shared->is_done = true;
    eventfd_write(shared->done.number(), 1);
  }).detach();
}

int HostLookup::descriptor() const { return shared_->done.number(); }

bool HostLookup::IsDone() const { return shared_->is_done; }

Result<std::vector<Endpoint>> HostLookup::Take() {
  const Found& found = shared_->found;
  if (found.error != 0) return Failure{kExitUnreachable, gai_strerror(found.error)};
  return found.endpoints;
}

}  // namespace fairlock::cli
