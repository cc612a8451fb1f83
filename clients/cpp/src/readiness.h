// Whether something is ready, and the coroutines that wait for it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <vector>

#include "fairlock/client/errors.h"

namespace fairlock::client {

inline constexpr Duration kForever = std::chrono::hours(24);

// Throws asio::error::operation_aborted in a coroutine that was cancelled.
boost::asio::awaitable<void> ThrowIfCancelled();

// Loop-confined.
class Readiness {
 public:
  explicit Readiness(boost::asio::io_context& io) : io_(io) {}

  // Waits for the next call of Set, and throws the failure that it reports; throws ConnectionFailed
  // if there is none within the limit.
  boost::asio::awaitable<void> Await(Duration limit);

  // Null if it is ready.
  void Set(std::exception_ptr failure);

  [[nodiscard]] bool is_ready() const { return is_ready_; }
  [[nodiscard]] bool is_awaited() const { return !arrivals_.empty(); }

 private:
  boost::asio::io_context& io_;
  bool is_ready_ = false;
  std::exception_ptr failure_;  // the last one
  std::vector<std::shared_ptr<boost::asio::steady_timer>> arrivals_;
};

}  // namespace fairlock::client
