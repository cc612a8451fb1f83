// One HTTP connection as a client of the commands: what it asks for is executed as they are.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/reply.h"
#include "server/command/client/client.h"
#include "server/command/client/transport.h"
#include "server/command/execution/request_pipeline.h"
#include "server/command/server_parts.h"

namespace fairlock::http {

// It shows in CLIENT LIST, its user's permissions hold, and HISTORY names its address. It is the
// server's own user, who may everything, unless it is told whose commands these are. Commands that
// wait are not to be called. Loop-confined.
class CommandCaller final : private command::Transport {
 public:
  // `notice` is called when a log-in that had to wait is over, or CLIENT KILL has named it; it must
  // only take note.
  CommandCaller(command::ServerParts& server, command::ClientAddress address, engine::TimeMs now,
                std::function<void()> notice);
  CommandCaller(const CommandCaller&) = delete;
  CommandCaller& operator=(const CommandCaller&) = delete;
  // REQUIRES: detached.
  ~CommandCaller() = default;

  // Whose commands follow, by the header Authorization of their request: the user's with
  // "Basic USER:PASSWORD", else those of the server's own user. False: the password is being
  // compared; nothing may be called until `notice` is, and then EndLogIn.
  [[nodiscard]] bool Identify(std::string_view authorization, engine::TimeMs now);
  void EndLogIn();
  // The commands that follow belong to no user, until one is identified.
  void Forget();
  // Why the log-in failed; none: it did not, or none was tried.
  const std::optional<protocol::Reply>& log_in_error() const { return log_in_error_; }
  // Whether a user has logged in; the permissions are those of that user.
  bool has_logged_in() const { return has_logged_in_; }
  // REQUIRES: the client has not been closed.
  const access::User& user() const { return *client().rights.user(); }
  // Why the user may not make that request; empty: he may. For what is looked up without a command.
  std::string Judge(std::span<const std::string_view> request) const;
  std::string Judge(std::initializer_list<std::string_view> request) const {
    return Judge(std::span(request.begin(), request.size()));
  }

  // Whether the user may run that command at all, on some keys or others.
  bool MayRun(std::string_view command) const;

  // In RESP3.
  protocol::Reply Call(std::span<const std::string_view> arguments, engine::TimeMs now);
  protocol::Reply Call(std::initializer_list<std::string_view> arguments, engine::TimeMs now) {
    return Call(std::span(arguments.begin(), arguments.size()), now);
  }
  void SelectDatabase(std::uint8_t database) { client().profile.database = database; }
  command::ServerParts& server() { return server_; }

  // True: what was answered since the last call may reveal the state of locks, which must be
  // persisted before the answer leaves.
  bool TakeStateDependency() { return client().output.TakeStateDependency(); }
  void Detach(engine::TimeMs now);
  // CLIENT KILL has named it.
  bool is_killed() const { return is_killed_; }

 private:
  command::Client& client() { return pipeline_.client(); }
  const command::Client& client() const { return pipeline_.client(); }

  void NoticeOutput() override { notice_(); }
  bool AdmitOutput(std::size_t) override { return false; }
  void CloseNow() override;

  // False: it is being compared.
  bool LogIn(std::string_view basic, engine::TimeMs now);
  protocol::Reply TakeReply();

  command::ServerParts& server_;
  const std::function<void()> notice_;
  command::RequestPipeline pipeline_;
  std::optional<protocol::Reply> log_in_error_;
  bool has_logged_in_ = false;
  bool is_killed_ = false;
};

}  // namespace fairlock::http
