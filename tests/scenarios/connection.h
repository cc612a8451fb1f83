// A TCP connection to a server, for a test that speaks and listens step by step.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlock::scenarios {

struct Address {
  std::string host;  // numeric
  std::uint16_t port = 0;
};

class Connection {
 public:
  Connection() = default;
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  // Empty, or why that is not possible.
  std::string Open(const Address& address);
  bool is_open() const { return descriptor_ >= 0; }
  void Close();

  // Sends all; false if the other side is gone.
  bool Send(std::string_view bytes);
  // Waits at most that long for bytes and appends those that are there; false: none came.
  bool Receive(std::string& bytes, std::chrono::milliseconds patience);
  // The other side closed, as Receive found out.
  bool is_ended() const { return is_ended_; }

 private:
  int descriptor_ = -1;
  bool is_ended_ = false;
};

}  // namespace fairlock::scenarios
