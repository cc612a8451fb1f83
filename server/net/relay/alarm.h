// Calls a function once, after a given time.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "contracts/loop_confined.h"
#include "server/command/client/client.h"

namespace fairlock::net {

class Alarm : contracts::LoopConfined {
 public:
  Alarm(boost::asio::io_context& io, std::function<void()> ring)
      : timer_(io), ring_(std::make_shared<std::function<void()>>(std::move(ring))) {}

  // Does nothing if the alarm is already set.
  void Set(engine::DurationMs in_ms);
  void Cancel();

 private:
  boost::asio::steady_timer timer_;
  // Handlers have a weak pointer to this, so that one that runs after this object is gone does
  // nothing.
  const std::shared_ptr<std::function<void()>> ring_;
  bool is_set_ = false;
};

}  // namespace fairlock::net
