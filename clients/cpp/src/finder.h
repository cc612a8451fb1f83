// Where a link finds its server: at one of several addresses, or where a Sentinel says.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#include "dialer.h"
#include "failures.h"

namespace fairlock::client {

// Loop-confined.
class Finder {
 public:
  virtual ~Finder() = default;

  // How many addresses one attempt to connect tries.
  [[nodiscard]] virtual std::size_t Tries() const = 0;

  // The address to be tried next. Throws ConnectionFailed if none is known at the moment.
  virtual boost::asio::awaitable<Address> Next() = 0;

  // The server has replied with an error. Throws Refused if it means that a client with these
  // settings cannot use the server.
  virtual void Check(const std::string& /*error*/) const {}

  // The server cannot serve a request at the moment. Returns whether it may be found at another
  // address.
  virtual bool MayMove(const Temporary& failure) = 0;
};

// The finder for a client with a single server.
std::unique_ptr<Finder> MakeFinder(Dialer& dialer);

// Throws Refused if there are none, or if one is not an address.
std::vector<Address> ParseAddresses(const std::vector<std::string>& texts,
                                    const char* default_port);

}  // namespace fairlock::client
