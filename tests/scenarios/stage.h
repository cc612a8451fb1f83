// Where scenarios are played: a server of some kind, and connections to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/reply.h"

namespace fairlock::scenarios {

enum class Patience : std::uint8_t {
  kNone,  // what is there once the server has done all that it was asked to do
  kFull,  // as long as it may take
};

// Connections are known by the names of those who speak through them.
class Stage {
 public:
  virtual ~Stage() = default;

  // A case begins without connections and without locks. Empty, or why that is not possible.
  virtual std::string Begin() = 0;
  // Closes all connections. Empty, or what the case has left behind and must not.
  virtual std::string End() = 0;

  virtual bool IsOpen(const std::string& who) const = 0;
  // Empty, or why that is not possible.
  virtual std::string Open(const std::string& who) = 0;
  virtual void Send(const std::string& who, std::string_view bytes) = 0;
  virtual void Close(const std::string& who) = 0;

  // The next reply that came. What cannot be read as a reply is shown as an error.
  virtual std::optional<protocol::Reply> Take(const std::string& who, Patience patience) = 0;
  // The server closed the connection.
  virtual bool IsClosed(const std::string& who, Patience patience) = 0;

  virtual void Advance(std::int64_t duration_ms) = 0;
  // How much later than said things may happen here.
  virtual std::int64_t slack_ms() const = 0;
};

}  // namespace fairlock::scenarios
