// A conversation with the server, one request at a time, that waits for each answer.
#pragma once

#include <deque>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/connection/settings.h"
#include "cli/connection/wire.h"
#include "protocol/reply.h"

namespace fairlock::cli {

// Connects with the first request. After a failure of the connection every request fails with it,
// until Reconnect().
class Client {
 public:
  Client(const Settings& settings, Login login) : settings_(settings), wire_(settings, login) {}

  // The reply, which is not an error. `patience_ms` 0: as the settings say.
  Result<protocol::Reply> Ask(std::span<const std::string_view> arguments,
                              DurationMs patience_ms = 0);
  Result<protocol::Reply> Ask(std::initializer_list<std::string_view> arguments,
                              DurationMs patience_ms = 0) {
    return Ask(std::span(arguments.begin(), arguments.size()), patience_ms);
  }

  // As Ask(), but an error that the server answers is a reply like any other.
  Result<protocol::Reply> AskPlainly(std::span<const std::string_view> arguments,
                                     DurationMs patience_ms = 0);

  // A request whose answer comes as a message, as those of subscriptions do.
  void Send(std::initializer_list<std::string_view> arguments);

  // The next message of a channel; none: none came until `give_up_at`.
  Result<std::optional<protocol::Reply>> WaitForMessage(TimeMs give_up_at);

  void Reconnect();

  // Whether the connection, or the one that was lost last, was ever ready for requests.
  bool has_connected() const { return has_connected_; }

  std::string ServerName() const { return wire_.ServerName(); }

 private:
  void OpenOnce();
  // Until there is something to take, the time is over (an empty result) or the connection ended.
  Result<std::optional<protocol::Reply>> TakeNext(TimeMs give_up_at);

  Settings settings_;
  Wire wire_;
  bool is_opened_ = false;
  bool has_connected_ = false;
  std::optional<Failure> failure_;  // of the connection
  std::deque<protocol::Reply> messages_;
};

}  // namespace fairlock::cli
