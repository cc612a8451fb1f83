// A connection of a client whose bytes are passed to the leader.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "server/net/relay/byte_flow.h"
#include "server/net/sockets/descriptor.h"
#include "server/net/sockets/owned_descriptor.h"

namespace fairlock::net {

// Owns both sockets. Half-closes are passed on; when one side fails, both are closed. Its pending
// operations keep it alive. Loop-confined.
class RelayedConnection final : public std::enable_shared_from_this<RelayedConnection> {
 public:
  // A leader that has ended its side reads nothing more either, so the client's side is ended this
  // long afterwards.
  static constexpr std::chrono::seconds kLinger{10};

  // `on_end` is called when the connection ends by itself. It is the last call to the outside.
  RelayedConnection(boost::asio::io_context& io, OwnedDescriptor client, OwnedDescriptor leader,
                    std::function<void()> on_end);
  RelayedConnection(const RelayedConnection&) = delete;
  RelayedConnection& operator=(const RelayedConnection&) = delete;

  // May call `on_end`.
  void Start();
  // Closes both sides at once, without calling `on_end`.
  void Close();

 private:
  struct Direction {
    ByteFlow flow;
    Descriptor& from;
    Descriptor& to;
    bool has_ended = false;
  };

  void Continue(Direction& direction);
  void Await(Descriptor& descriptor, Descriptor::wait_type what, Direction& direction);
  void AwaitFailure(Descriptor& descriptor);
  void OnDirectionEnd(Direction& direction);
  void End();

  Descriptor client_;
  Descriptor leader_;
  Direction to_leader_;
  Direction to_client_;
  boost::asio::steady_timer linger_;
  std::function<void()> on_end_;  // null: closed
};

}  // namespace fairlock::net
