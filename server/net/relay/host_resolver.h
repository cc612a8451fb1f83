// Finds the addresses of a host without blocking the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fairlock::net {

using HostAddresses = std::vector<boost::asio::ip::address>;

// Loop-confined. A name is resolved on a thread of Asio, which exists from the first name on.
class HostResolver {
 public:
  explicit HostResolver(boost::asio::io_context& io) : resolver_(io) {}

  // Calls `done` once with the addresses, or with none if there are none: within this call if the
  // host is a numeric address.
  void Resolve(const std::string& host, std::function<void(HostAddresses)> done);
  // Abandons the resolution in progress: its `done` is not called.
  void Cancel();

  bool is_resolving() const { return asked_ != nullptr; }

 private:
  boost::asio::ip::tcp::resolver resolver_;
  std::shared_ptr<std::function<void(HostAddresses)>> asked_;  // null: nothing is in progress
};

}  // namespace fairlock::net
