// Socket addresses, and name resolution.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/base/descriptor.h"
#include "cli/base/result.h"

namespace fairlock::cli {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Result<Endpoint> UnixEndpoint(const std::string& path);

// The endpoints of a numeric address; empty if `host` is a name.
std::vector<Endpoint> NumericEndpoints(const std::string& host, std::uint16_t port);

// Resolves a host name on its own thread: the resolver may block for many seconds, during which the
// owner has leases to renew. Destroying the lookup does not wait for the thread.
class HostLookup {
 public:
  HostLookup(const std::string& host, std::uint16_t port);

  // Becomes readable when the lookup is done.
  int descriptor() const;
  bool IsDone() const;

  // Requires IsDone(). Returns at least one endpoint, or the resolver's error.
  Result<std::vector<Endpoint>> Take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace fairlock::cli
