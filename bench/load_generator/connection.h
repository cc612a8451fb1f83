// A client's socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/reply_scanner.h"

namespace fairlock::bench {

// Where a server listens.
struct Endpoint {
  std::string host;  // numeric
  std::uint16_t port = 0;
  std::string unix_path;  // not empty: this instead of host and port
};

// "127.0.0.1:3247", or the path of a unix socket. Fails if it is neither.
Endpoint ParseEndpoint(std::string_view text);

// A connected non-blocking socket, with what is still to be sent and what was received and not yet
// taken. A connection that breaks ends the process. Neither copied nor moved.
class Connection {
 public:
  explicit Connection(const Endpoint& endpoint);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  int descriptor() const { return descriptor_; }

  // Sends as much as the socket takes at once; what is left goes first with the next Send or Flush.
  void Send(std::string_view bytes);
  void Flush() { Send({}); }
  bool has_unsent() const { return !unsent_.empty(); }

  // Reads what is there; false: nothing.
  bool Receive();
  // The next whole reply out of what was received; its text is valid until the next Receive.
  protocol::SkippedReply TakeReply();

  // Sends the request and waits for its reply. REQUIRES: no reply is outstanding.
  protocol::SkippedReply Ask(std::string_view request);
  // Waits for the next reply.
  protocol::SkippedReply AwaitReply();

 private:
  int descriptor_ = -1;
  std::string unsent_;
  std::string received_;
  std::size_t taken_ = 0;  // of received_
};

}  // namespace fairlock::bench
