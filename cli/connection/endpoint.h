// Socket addresses, and the search for those behind a name.
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

// Those of an address; none if `host` is a name.
std::vector<Endpoint> NumericEndpoints(const std::string& host, std::uint16_t port);

// Asks for the addresses of a name, on a thread of its own: the resolver may take many seconds, in
// which its owner has leases to renew. Dropping the search does not wait for it.
class NameSearch {
 public:
  NameSearch(const std::string& host, std::uint16_t port);

  // Readable when the answer is there.
  int descriptor() const;
  bool IsDone() const;

  // Once it is done. At least one endpoint, or why there is none (the resolver's words).
  Result<std::vector<Endpoint>> Take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace fairlock::cli
