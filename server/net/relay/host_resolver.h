// Finds the addresses of a host without blocking the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "contracts/loop_confined.h"

namespace fairlock::net {

using HostAddresses = std::vector<boost::asio::ip::address>;

// Names are resolved on a thread of Asio, which is started for the first name.
class HostResolver : contracts::LoopConfined {
 public:
  explicit HostResolver(boost::asio::io_context& io) : resolver_(io) {}

  // Calls `done` once with the addresses, or with an empty list if there are none. If the host is a
  // numeric address, `done` is called within this call.
  void Resolve(const std::string& host, std::function<void(HostAddresses)> done);
  // Abandons the resolution in progress: its `done` is not called.
  void Cancel();

  bool is_resolving() const { return asked_ != nullptr; }

 private:
  boost::asio::ip::tcp::resolver resolver_;
  std::shared_ptr<std::function<void(HostAddresses)>> asked_;  // null: nothing is in progress
};

}  // namespace fairlock::net
