// A connection of a client whose bytes are passed to the leader.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "contracts/loop_confined.h"
#include "server/net/sockets/descriptor.h"

namespace fairlock::net {

// One direction of a relayed connection.
//
// Moves bytes from one socket to another without interpreting them, and passes on the end of the
// stream. It reads only when it has sent everything that it read before, so it buffers at most
// kBytesMax, and nothing while idle.
class ByteFlow {
 public:
  static constexpr std::size_t kBytesMax = 16 * 1024;

  enum class Step : std::uint8_t {
    kAwaitsBytes,  // call Move when the source is readable
    kAwaitsSpace,  // call Move when the destination is writable
    kEnded,        // the source has ended, and the destination has been told
    kFailed,       // one of the sockets has failed
  };

  // The sockets must be non-blocking and must outlive this object, which does not own them.
  ByteFlow(int from, int to) : from_(from), to_(to) {}

  // Reads at most once.
  Step Move();

 private:
  // The bytes that the destination has not taken remain in rest_.
  Step Send(const char* bytes, std::size_t count);

  const int from_;
  const int to_;
  std::string rest_;
};

// Owns both sockets. Half-closes are passed on; when one side fails, both are closed. Its pending
// operations keep it alive.
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

// All relayed connections of a standby.
class RelayedConnections : contracts::LoopConfined {
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
