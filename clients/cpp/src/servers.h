// The connections of a client: one for each server that it needs.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "fairlock/client.h"
#include "link.h"
#include "resp.h"

namespace fairlock::client {

// Chooses the connection for a request by its key. Loop-confined.
class Servers {
 public:
  virtual ~Servers() = default;

  // Like those of Link.
  virtual boost::asio::awaitable<void> AwaitConnection(const std::string& key, Duration limit) = 0;
  virtual boost::asio::awaitable<Answer> Ask(const std::string& key, Command command,
                                             Duration limit) = 0;

  // The channel for waits for the key, to which the connection is subscribed between these calls.
  [[nodiscard]] virtual std::string Channel(const std::string& key) const = 0;
  virtual void Listen(const std::string& key) = 0;
  virtual void Unlisten(const std::string& key) = 0;
};

// Makes the connections to one server, or to the leaders of a fleet of several partitions. `id` is
// that of the client.
std::unique_ptr<Servers> MakeServers(boost::asio::io_context& io, Settings settings,
                                     const std::string& id, Listener listener);

}  // namespace fairlock::client
