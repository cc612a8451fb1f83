// Lets the threads of a service call functions on the loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

namespace fairlock::net {

// The loop outlives the services, and executes what is posted even while it is being destroyed. So
// a service that posts functions which use it must post them through a member of this class.
//
// Create and destroy a poster on the loop's thread, and end the threads that use it first.
class LoopPoster {
 public:
  explicit LoopPoster(boost::asio::io_context& io) : io_(io) {}
  LoopPoster(const LoopPoster&) = delete;
  LoopPoster& operator=(const LoopPoster&) = delete;

  // Any thread may call this. The loop's thread calls `function`, unless this poster has been
  // destroyed by then.
  template <typename Function>
  void Post(Function function) {
    boost::asio::post(io_, [alive = std::weak_ptr(alive_), function = std::move(function)] {
      if (!alive.expired()) function();
    });
  }

 private:
  boost::asio::io_context& io_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace fairlock::net
