// One connection on the Sentinel port: bytes in, replies and messages out.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/arguments.h"
#include "protocol/limits.h"
#include "protocol/request_parser.h"
#include "server/command/client/client.h"
#include "server/command/execution/request_pipeline.h"
#include "server/command/server_parts.h"
#include "server/sentinel/leader_watch.h"
#include "server/sentinel/subscriptions.h"

namespace fairlock::sentinel {

// Executes the commands of Redis Sentinel, but no lock commands. HELLO, AUTH and CLIENT work
// as on the RESP ports, with the same users. A client that has logged in may use every other
// command, because these reveal only the addresses of the fleet. The connection appears in CLIENT
// LIST.
//
// While a password is being compared, no later request is executed. Independent of sockets.
// Loop-confined.
class Session final : private command::Transport {
 public:
  static constexpr std::size_t kRequestBytesMax = 16 * 1024;
  // While more output than this is unsent, no request is executed.
  static constexpr std::size_t kOutputPauseBytes = 64 * 1024;
  // If messages make the unsent output exceed this, the connection is closed.
  static constexpr std::size_t kOutputBytesMax = 256 * 1024;

  // Calls `notice` when there is output, when the next request can be executed, or when the
  // connection must close; `notice` must only record that. The references must outlive it.
  Session(command::ServerParts& server, const LeaderWatch& watch, command::ClientAddress address,
          engine::TimeMs now, std::function<void()> notice);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // REQUIRES: Detach was called.
  ~Session() = default;

  // Executes whole requests from the front of `input`, and returns how many bytes it has finished
  // with. The caller must pass the rest again, followed by new bytes.
  std::size_t Consume(std::string_view input, engine::TimeMs now);
  // Whether the last Consume stopped before the end of the input: because a password is being
  // compared, much output is unsent, or the client has sent many requests.
  bool has_more_to_execute() const { return has_more_; }

  void Publish(const Message& message);
  // Returns the output since the last call.
  std::string TakeOutput();

  bool is_logged_in() const { return client().rights.user() != nullptr; }
  // Whether the connection must close once the output is sent.
  bool is_over() const { return client().output.is_closing(); }
  // Whether the connection must close now.
  bool is_killed() const { return is_killed_; }
  void Detach(engine::TimeMs now) { pipeline_.Detach(now); }

 private:
  command::Client& client() { return pipeline_.client(); }
  const command::Client& client() const { return pipeline_.client(); }

  void NoticeOutput() override { notice_(); }
  bool AdmitOutput(std::size_t) override { return false; }
  void CloseNow() override;

  command::ServerParts& server_;
  const LeaderWatch& watch_;
  const std::function<void()> notice_;
  command::RequestPipeline pipeline_;
  protocol::RequestParser parser_;
  protocol::Arguments arguments_;
  Subscriptions subscriptions_;
  bool has_more_ = false;
  bool is_killed_ = false;
};

}  // namespace fairlock::sentinel
