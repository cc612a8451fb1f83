// A TCP connection to a server, for tests that send and receive step by step.
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

  // Returns an empty string, or the reason why the connection failed.
  std::string Open(const Address& address);
  bool is_open() const { return descriptor_ >= 0; }
  void Close();

  // Sends everything; returns false if the other side has closed the connection.
  bool Send(std::string_view bytes);
  // Waits at most `patience` for bytes, and appends those that have arrived; false if there are
  // none.
  bool Receive(std::string& bytes, std::chrono::milliseconds patience);
  // Whether Receive has found that the other side has closed the connection.
  bool is_ended() const { return is_ended_; }

 private:
  int descriptor_ = -1;
  bool is_ended_ = false;
};

}  // namespace fairlock::scenarios
