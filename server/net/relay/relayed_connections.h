// All relayed connections of a standby.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "server/net/relay/relayed_connection.h"

namespace fairlock::net {

// Loop-confined.
class RelayedConnections {
 public:
  // `on_end` is called with the client's address when a connection has ended.
  RelayedConnections(boost::asio::io_context& io,
                     std::function<void(const std::string& peer)> on_end)
      : io_(io), on_end_(std::move(on_end)) {}
  RelayedConnections(const RelayedConnections&) = delete;
  RelayedConnections& operator=(const RelayedConnections&) = delete;

  void Add(std::string peer, OwnedDescriptor client, OwnedDescriptor leader);
  void CloseAll();
  std::size_t count() const { return connections_.size(); }

 private:
  struct Entry {
    std::string peer;
    std::shared_ptr<RelayedConnection> connection;
  };

  void OnEnd(std::list<Entry>::iterator entry);

  boost::asio::io_context& io_;
  const std::function<void(const std::string& peer)> on_end_;
  std::list<Entry> connections_;
};

}  // namespace fairlock::net
