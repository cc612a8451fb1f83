// A non-blocking connection to the server: sends requests, receives replies.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/clock.h"
#include "cli/base/descriptor.h"
#include "cli/base/result.h"
#include "cli/connection/endpoint.h"
#include "cli/connection/server_list.h"
#include "cli/connection/settings.h"
#include "cli/connection/tls_connection.h"
#include "protocol/reply_parser.h"

namespace fairlock::cli {

struct Login {
  std::string user;
  std::string password;  // empty if there is none
  int database = 0;
};

// Reads the password file if the settings name one.
Result<Login> LoginOf(const Settings& settings);

// One connection at a time; it can be reopened after it has ended. Uses RESP3, so that push
// messages can arrive between replies. It logs in by itself and consumes the replies to the login.
//
// If the settings list several servers, the first that serves locks is used, beginning with the one
// that worked last: a server is left for the next one if it cannot be connected to, does not answer
// within its share of the timeout, or refuses to serve (CLUSTERDOWN or LOADING). Requests are then
// sent only after the log-in.
//
// The owner polls Interest(), and calls Advance() when it is ready or at WakeAt().
class AsyncConnection {
 public:
  enum class State : std::uint8_t {
    kClosed,
    kTurningToNext,  // the next Advance turns to the next server in the list
    kLookingUp,
    kConnecting,
    kHandshaking,
    kOpen
  };

  AsyncConnection(const Settings& settings, Login login);

  // Requires a closed connection. Requests sent from now on go out once the connection is open.
  void Open(TimeMs now);
  void Close();

  State state() const { return state_; }
  // Whether it is open and logged in.
  bool is_ready() const { return state_ == State::kOpen && login_replies_left_ == 0; }

  // Whether the server, when it was logged in to last, was a node whose fleet may have several
  // partitions.
  bool is_in_cluster() const { return is_in_cluster_; }
  // Whether it was a standby at that time.
  bool is_at_standby() const { return is_at_standby_; }

  // Why the connection ended; valid only if it was not closed by Close().
  const Failure& end() const { return end_; }
  // Whether the connection was refused: nothing listens at the address, so the server process is
  // gone.
  bool was_refused() const { return was_refused_; }
  ServerList& servers() { return servers_; }
  const ServerList& servers() const { return servers_; }

  pollfd Interest() const;
  TimeMs WakeAt() const;  // kForever if no timer is set
  void Advance(TimeMs now);

  // Does nothing when closed. After SELECT, the connection is reopened in that database.
  void Send(std::span<const std::string_view> arguments);
  void Send(std::initializer_list<std::string_view> arguments) {
    Send(std::span(arguments.begin(), arguments.size()));
  }

  // Returns the next received reply or push message, if any.
  std::optional<protocol::Reply> Take();

  // "127.0.0.1:3247" or "unix:/run/fairlock.sock".
  std::string ServerName() const { return servers_.name(); }

 private:
  void EndWith(Failure failure);
  void EndUnconnected(const std::string& reason);
  // Turns to the next server if there is one and the connection is not ready yet; otherwise ends.
  void LeaveServer(const std::string& reason, Failure failure, bool is_standby = false);
  // Whether the reply to the probe shows that another server has to be found.
  bool IsRefused(const protocol::Reply& probe) const;
  void LoseServer(const std::string& reason, Failure failure);
  void RememberRefusal(int error);
  void SendQueued();
  void RememberDatabase(std::span<const std::string_view> arguments);
  void Disconnect();
  void OpenServer(TimeMs now);
  DurationMs ServerPatienceMs() const;
  void TakeEndpoints();
  void ConnectToNext(TimeMs now);
  void FinishConnecting(TimeMs now);
  void BeginTls();
  void ContinueHandshake();
  void BeginLogin();
  void Write();
  void Read();
  void Parse();
  void TakeLoginReply(const protocol::Reply& reply);

  Settings settings_;
  Login login_;
  ServerList servers_;
  State state_ = State::kClosed;
  Descriptor socket_;
  std::unique_ptr<TlsConnection> tls_;  // null without TLS
  bool tls_needs_to_write_ = false;     // during the handshake
  std::optional<HostLookup> lookup_;
  std::vector<Endpoint> endpoints_;
  std::size_t next_endpoint_ = 0;
  TimeMs give_up_at_ = kForever;
  std::string last_error_;  // the error of the last attempt to connect
  int login_replies_left_ = 0;
  bool is_in_cluster_ = false;
  bool is_at_standby_ = false;
  std::string output_;
  std::size_t sent_bytes_ = 0;  // how much of output_ has been sent
  std::string queued_;          // requests made before it was open
  std::string input_;
  std::size_t parsed_bytes_ = 0;  // how much of input_ has been parsed
  std::unique_ptr<protocol::ReplyParser> parser_;
  std::deque<protocol::Reply> replies_;
  Failure end_;
  bool was_refused_ = false;
};

// "fairlockctl/USER@HOST", shown with its holds and in the server's log. A client's name may have
// neither spaces nor other than ASCII letters, so such bytes become '_'; each part is cut after
// kNamePartBytesMax bytes. The user of the program can choose both, so they prove nothing.
inline constexpr std::size_t kNamePartBytesMax = 64;
std::string NameFor(std::string_view user, std::string_view host);

// For the user that runs this process, as the system's user database names it ("uid1000" if it does
// not), on this machine. Looks them up once.
const std::string& OwnName();

}  // namespace fairlock::cli
