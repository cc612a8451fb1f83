#include "resolver.h"

#include <netdb.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#include "fairlock/client/errors.h"

namespace fairlock::client {

namespace asio = boost::asio;

namespace {

// Returns the error of getaddrinfo, or 0.
int LookUp(const std::string& host, const std::string& port, int flags, Endpoints& endpoints) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return error;
  }
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    endpoints.emplace_back(each->ai_addr, each->ai_addrlen, each->ai_protocol);
  }
  freeaddrinfo(found);
  return 0;
}

}  // namespace

struct Resolver::Lookup {
  std::mutex mutex;
  Resolver* resolver = nullptr;  // null once it is gone
  bool is_over = false;
  int error = 0;
  Endpoints endpoints;
};

Resolver::Resolver(asio::io_context& io) : io_(io), news_(io) {}

Resolver::~Resolver() {
  for (const auto& [name, lookup] : lookups_) {
    const std::lock_guard lock(lookup->mutex);
    lookup->resolver = nullptr;
  }
}

bool Resolver::IsOver(const LookupPtr& lookup) {
  const std::lock_guard lock(lookup->mutex);
  return lookup->is_over;
}

Resolver::LookupPtr Resolver::Start(const std::string& host, const std::string& port) {
  auto lookup = std::make_shared<Lookup>();
  lookup->resolver = this;
  const auto look_up = [lookup, host, port] {
    Endpoints endpoints;
    const int error = LookUp(host, port, AI_ADDRCONFIG, endpoints);
    const std::lock_guard lock(lookup->mutex);
    lookup->error = error;
    lookup->endpoints = std::move(endpoints);
    lookup->is_over = true;
    // While the resolver exists, so does its io_context; the handler runs only before both end.
    if (Resolver* const resolver = lookup->resolver; resolver != nullptr) {
      asio::post(resolver->io_, [resolver] { resolver->news_.cancel(); });
    }
  };
  try {
    std::thread(look_up).detach();
  } catch (const std::system_error& error) {
    throw ConnectionFailed("cannot look up " + host + ": " + error.what());
  }
  return lookup;
}

asio::awaitable<Endpoints> Resolver::Resolve(std::string host, std::string port,
                                             asio::steady_timer::duration limit) {
  Endpoints endpoints;
  if (host.empty()) {
    endpoints.emplace_back(asio::local::stream_protocol::endpoint(port));
    co_return endpoints;
  }
  if (LookUp(host, port, AI_NUMERICHOST, endpoints) == 0) co_return endpoints;
  const auto name = std::make_pair(host, port);
  const auto found = lookups_.find(name);
  // The result of a lookup for which nobody waited until its end may be old.
  const bool is_new = found == lookups_.end() || IsOver(found->second);
  const LookupPtr lookup = is_new ? Start(host, port) : found->second;
  lookups_[name] = lookup;
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!IsOver(lookup)) {
    if (std::chrono::steady_clock::now() >= end) {
      throw ConnectionFailed("cannot look up " + host + ": no name server replied in time");
    }
    news_.expires_at(end);
    co_await news_.async_wait(kQuietly);
  }
  lookups_.erase(name);
  if (lookup->error != 0) {
    throw ConnectionFailed("cannot look up " + host + ": " + gai_strerror(lookup->error));
  }
  co_return std::move(lookup->endpoints);
}

}  // namespace fairlock::client
