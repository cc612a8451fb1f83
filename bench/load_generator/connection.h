// A client socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/reply_scanner.h"

namespace fairlock::bench {

// The address of a server.
struct Endpoint {
  std::string host;  // numeric
  std::uint16_t port = 0;
  std::string unix_path;  // if not empty, used instead of host and port
};

// Parses "127.0.0.1:3247" or the path of a unix socket; anything else is a failure.
Endpoint ParseEndpoint(std::string_view text);

// A connected non-blocking socket, with unsent output and input that was received but not taken
// yet. A connection error ends the process. Neither copyable nor movable.
class Connection {
 public:
  explicit Connection(const Endpoint& endpoint);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  int descriptor() const { return descriptor_; }

  // Sends as much as the socket accepts; the next Send or Flush sends the rest first.
  void Send(std::string_view bytes);
  void Flush() { Send({}); }
  bool has_unsent() const { return !unsent_.empty(); }

  // Reads available input. Returns false if there is none.
  bool Receive();
  // Takes the next complete reply from the received input; its text is valid until the next
  // Receive.
  protocol::SkippedReply TakeReply();

  // Sends the request and waits for its reply. REQUIRES: no outstanding reply.
  protocol::SkippedReply Ask(std::string_view request);
  // Waits for the next reply.
  protocol::SkippedReply AwaitReply();

 private:
  int descriptor_ = -1;
  std::string unsent_;
  std::string received_;
  std::size_t taken_ = 0;  // number of bytes taken from received_
};

}  // namespace fairlock::bench
