// A blocking client: sends one request at a time and waits for its reply.
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
#include "cli/connection/async_connection.h"
#include "cli/connection/settings.h"
#include "protocol/reply.h"

namespace fairlock::cli {

// Connects with the first request. Once the connection has failed, every request fails with the
// same error until Reconnect().
//
// If the settings list several servers, it reconnects by itself, and resends a request that only
// reads, or that was refused because the server does not serve locks. Any other request whose
// connection breaks fails, because it may have been executed.
//
// It follows redirects to the leader of a partition: a redirected request was not executed. The
// first is followed at once; more than one are followed until the timeout of the settings, because
// the leader may be changing.
class Client {
 public:
  Client(const Settings& settings, Login login)
      : settings_(settings), connection_(settings, login) {}

  // Accepts any of several servers, even one that does not serve locks. REQUIRES: nothing was sent.
  void AcceptStandby() { connection_.servers().AcceptStandby(); }
  // Follows no redirects. REQUIRES: nothing was sent.
  void StayAtServer() { follows_redirects_ = false; }
  // Whether there are several servers: listed ones, or one that a redirect named.
  bool has_choice() const { return connection_.servers().has_choice(); }

  // Connects and logs in, if necessary, without sending a request. Returns nullopt on success.
  std::optional<Failure> Connect();
  // Whether the server is a node whose fleet may have several partitions. REQUIRES: connected.
  bool is_in_cluster() const { return connection_.is_in_cluster(); }
  // Whether the server was a standby when the client connected. REQUIRES: connected.
  bool is_at_standby() const { return connection_.is_at_standby(); }

  // Returns a reply that is not an error. `patience_ms` 0 means the timeout of the settings.
  Result<protocol::Reply> Ask(std::span<const std::string_view> arguments,
                              DurationMs patience_ms = 0);
  Result<protocol::Reply> Ask(std::initializer_list<std::string_view> arguments,
                              DurationMs patience_ms = 0) {
    return Ask(std::span(arguments.begin(), arguments.size()), patience_ms);
  }

  // Like Ask(), but returns an error reply like any other reply.
  Result<protocol::Reply> AskRaw(std::span<const std::string_view> arguments,
                                 DurationMs patience_ms = 0);

  // Sends a request that is answered by a push message, such as a subscription.
  void Send(std::initializer_list<std::string_view> arguments);

  // Returns the next push message, or nullopt if none arrived by `give_up_at`.
  Result<std::optional<protocol::Reply>> WaitForMessage(TimeMs give_up_at);

  void Reconnect();

  // Whether the current connection, or the last one if it was lost, was ever ready for requests.
  bool has_connected() const { return has_connected_; }

  // The settings for the server that was connected to last.
  Settings SettingsOfServer() const;

  std::string ServerName() const { return connection_.ServerName(); }

 private:
  // Like AskRaw(), but uses only the current connection. Without arguments, it returns nil once the
  // connection is ready.
  Result<protocol::Reply> AskOnce(std::span<const std::string_view> arguments,
                                  DurationMs patience_ms);
  bool IsRedirect(const Result<protocol::Reply>& outcome) const;
  bool MayAskElsewhere(std::span<const std::string_view> arguments,
                       const Result<protocol::Reply>& outcome) const;
  void OpenOnce();
  void OpenAgain();
  // Returns the next reply or message; nullopt at `give_up_at`, or, with `until_ready`, as soon as
  // the connection is ready; a failure if the connection ended.
  Result<std::optional<protocol::Reply>> TakeNext(TimeMs give_up_at, bool until_ready = false);

  Settings settings_;
  AsyncConnection connection_;
  bool is_opened_ = false;
  bool has_connected_ = false;
  bool follows_redirects_ = true;
  std::optional<Failure> failure_;  // why the connection failed, if it did
  std::deque<protocol::Reply> messages_;
};

// Whether the request continues a walk from a cursor, which no other server knows.
bool ContinuesWalk(std::span<const std::string_view> request);

// Whether the request only reads, so it does not matter whether the server has executed it. False
// if it continues a walk.
bool IsRepeatable(std::span<const std::string_view> request);

}  // namespace fairlock::cli
