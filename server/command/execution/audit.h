// Logs who ended or changed what belongs to others, or changed the server; and what was denied.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/arguments.h"
#include "server/command/client/client.h"
#include "server/command/environment/environment.h"
#include "server/command/table/command_table.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// One line for each request whose row in the command table has the flag kAudited, whether it was
// executed or refused; further lines, at most kDeniedMax, for other requests that were denied. The
// clients cause all of them, so each kind has a bound per LineBudget::kPeriodMs, and a line beyond
// it is counted but not composed. Loop-confined.
class Audit {
 public:
  static constexpr std::uint64_t kExecutedMax = 1000;
  static constexpr std::uint64_t kRefusedMax = 100;
  static constexpr std::uint64_t kDeniedMax = 20;
  // No more of a request is shown. Reasons, which are the longest argument of most, fit.
  static constexpr std::size_t kArgumentBytesMax = 512;
  static constexpr std::size_t kArgumentsMax = 16;
  static constexpr std::size_t kOutcomeBytesMax = 256;

  struct Request {
    const ClientProfile& client;
    const CommandSpec& spec;
    const protocol::Arguments& arguments;
    Origin origin;
    engine::TimeMs now;
  };

  explicit Audit(const Environment& environment) : environment_(environment) {}

  // Returns the client and its request as text; empty if no line will be written. Must be called
  // before the request is executed, because that may change the client.
  std::string Begin(const Request& request);
  // `reply` is the encoded reply; empty if it comes later.
  void End(const std::string& begun, std::string_view reply);
  // Of a request that was not executed, or that its handler denied. `error` is the encoded reply.
  void NoteRefused(const Request& request, std::string_view error);

 private:
  std::string Describe(const Request& request) const;
  bool IsSecret(const Request& request, std::size_t argument) const;

  const Environment& environment_;
  LineBudget executed_{kExecutedMax};
  LineBudget refused_{kRefusedMax};
  LineBudget denied_{kDeniedMax};
};

}  // namespace fairlock::command
