// Where scenarios are played: a server of some kind, and connections to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/reply.h"

namespace fairlock::scenarios {

enum class Patience : std::uint8_t {
  kNone,  // takes what has arrived once the server has processed everything that was requested
  kFull,  // waits as long as necessary
};

// Connections are identified by names.
class Stage {
 public:
  virtual ~Stage() = default;

  // Starts a case without connections or locks. Returns an empty string, or an error.
  virtual std::string Begin() = 0;
  // Closes all connections. Returns an empty string, or what the case has left behind but should
  // not have.
  virtual std::string End() = 0;

  virtual bool IsOpen(const std::string& who) const = 0;
  // Returns an empty string, or the reason why the connection is not possible.
  virtual std::string Open(const std::string& who) = 0;
  virtual void Send(const std::string& who, std::string_view bytes) = 0;
  virtual void Close(const std::string& who) = 0;

  // Returns the next reply that has arrived. Bytes that are not a reply are shown as an error.
  virtual std::optional<protocol::Reply> Take(const std::string& who, Patience patience) = 0;
  // Whether the server has closed the connection.
  virtual bool IsClosed(const std::string& who, Patience patience) = 0;

  virtual void Advance(std::int64_t duration_ms) = 0;
  // How much later than stated things may happen on this stage.
  virtual std::int64_t slack_ms() const = 0;
};

}  // namespace fairlock::scenarios
