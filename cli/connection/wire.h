// A connection to the server that never blocks: requests in, replies out.
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
#include "cli/connection/settings.h"
#include "cli/connection/tls_connection.h"
#include "protocol/reply_parser.h"

namespace fairlock::cli {

struct Login {
  std::string user;
  std::string password;  // empty: none is given
  int database = 0;
};

// Reads the password file, if the settings name one.
Result<Login> LoginOf(const Settings& settings);

// One connection at a time; after its end it can be opened again. Speaks RESP3, so that messages of
// channels can come between replies. The login is its own business: its replies are not seen.
//
// Whoever polls it calls Advance() when Interest() has happened or `WakeAt()` has come.
class Wire {
 public:
  enum class State : std::uint8_t { kClosed, kLookingUp, kConnecting, kShakingHands, kOpen };

  Wire(const Settings& settings, Login login);

  // Only when closed. What is sent from now on goes out as soon as it can.
  void Open(TimeMs now);
  void Close();

  State state() const { return state_; }
  // The login is over, too.
  bool is_ready() const { return state_ == State::kOpen && login_replies_left_ == 0; }

  // Why it was closed; only after it ended by itself.
  const Failure& end() const { return end_; }
  // Nobody listens there: the server's process is gone, as far as its machine knows.
  bool was_refused() const { return was_refused_; }

  pollfd Interest() const;
  TimeMs WakeAt() const;  // kForever: never
  void Advance(TimeMs now);

  // Ignored when closed.
  void Send(std::span<const std::string_view> arguments);
  void Send(std::initializer_list<std::string_view> arguments) {
    Send(std::span(arguments.begin(), arguments.size()));
  }

  // The next reply or message that has come.
  std::optional<protocol::Reply> Take();

  // "127.0.0.1:3247" or "unix:/run/fairlock.sock".
  std::string ServerName() const;

 private:
  void EndWith(Failure failure);
  void EndUnconnected(const std::string& reason);
  void TakeEndpoints();
  void ConnectToNext(TimeMs now);
  void FinishConnecting(TimeMs now);
  void BeginTls();
  void GoOnWithTls();
  void BeginLogin();
  void Write();
  void Read();
  void Parse();
  void TakeLoginReply(const protocol::Reply& reply);

  Settings settings_;
  Login login_;
  State state_ = State::kClosed;
  Descriptor socket_;
  std::unique_ptr<TlsConnection> tls_;  // null: what is sent is sent as it is
  bool tls_needs_to_write_ = false;     // in its handshake
  std::optional<NameSearch> search_;
  std::vector<Endpoint> endpoints_;
  std::size_t next_endpoint_ = 0;
  TimeMs give_up_at_ = kForever;
  std::string last_error_;  // of connecting
  int login_replies_left_ = 0;
  std::string output_;
  std::size_t sent_bytes_ = 0;  // of output_
  std::string queued_;          // sent before it was open
  std::string input_;
  std::size_t parsed_bytes_ = 0;  // of input_
  std::unique_ptr<protocol::ReplyParser> parser_;
  std::deque<protocol::Reply> replies_;
  Failure end_;
  bool was_refused_ = false;
};

}  // namespace fairlock::cli
