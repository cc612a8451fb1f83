// One HTTP connection, as a client whose requests are executed as commands, and a walk over all
// locks with such requests.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reply.h"
#include "server/command/client/client.h"
#include "server/command/execution/request_pipeline.h"
#include "server/command/server_parts.h"

namespace fairlock::http {

// Appears in CLIENT LIST, may do only what its user's permissions allow, and appears in HISTORY
// with its address. Acts as the server's own user, which may do everything, until Identify names
// another user. Loop-confined.
class CommandCaller final : private command::Transport {
 public:
  // Calls `notice` when a log-in or a request that had to wait has ended, or when CLIENT KILL
  // closes this client; `notice` must only record that.
  CommandCaller(command::ServerParts& server, command::ClientAddress address, engine::TimeMs now,
                std::function<void()> notice);
  CommandCaller(const CommandCaller&) = delete;
  CommandCaller& operator=(const CommandCaller&) = delete;
  // REQUIRES: Detach was called.
  ~CommandCaller() = default;

  // Selects the user for the following commands according to the Authorization header of their
  // request: the named user for "Basic USER:PASSWORD", otherwise the server's own user. Returns
  // false if the password is still being compared. Nothing may then be called until `notice` has
  // been called; the next call must be EndLogIn.
  [[nodiscard]] bool Identify(std::string_view authorization, engine::TimeMs now);
  void EndLogIn();
  // The commands that follow have no user until Identify is called.
  void Forget();
  // Why the log-in failed; nullopt if it did not fail, or was not tried.
  const std::optional<protocol::Reply>& log_in_error() const { return log_in_error_; }
  // Whether a user has logged in; if so, that user's permissions apply.
  bool has_logged_in() const { return has_logged_in_; }
  // REQUIRES: the client is not closed.
  const access::User& user() const { return *client().rights.user(); }
  // Returns why the user may not make that request; empty if it may. Used where data is read
  // without executing a command.
  std::string Judge(std::span<const std::string_view> request) const;
  std::string Judge(std::initializer_list<std::string_view> request) const {
    return Judge(std::span(request.begin(), request.size()));
  }

  // Whether the user may run that command at all, with any keys.
  bool MayRun(std::string_view command) const;

  // Executes a command that may wait. Returns nullopt if it does: after `notice`, when is_waiting()
  // is false, TakeReply() returns its reply, and until then nothing else may be called but Detach.
  std::optional<protocol::Reply> Ask(std::span<const std::string_view> arguments,
                                     engine::TimeMs now);
  bool is_waiting() const { return client().wait.is_waiting(); }
  protocol::Reply TakeReply();
  // Call this when the kernel has all of the answer that the replies so far were made into. A grant
  // in them is undone if Detach comes first.
  void NoticeSent() { client().NoticeSent(std::exchange(unsent_bytes_, 0)); }

  // Returns the reply, in RESP3, of a command that does not wait.
  protocol::Reply Call(std::span<const std::string_view> arguments, engine::TimeMs now);
  protocol::Reply Call(std::initializer_list<std::string_view> arguments, engine::TimeMs now) {
    return Call(std::span(arguments.begin(), arguments.size()), now);
  }
  void SelectDatabase(std::uint8_t database) { client().profile.database = database; }
  command::ServerParts& server() { return server_; }

  // Returns whether replies since the last call may reveal the state of locks. If so, that state
  // must be persisted before the answer is sent.
  bool TakeStateDependency() { return client().output.TakeStateDependency(); }
  void Detach(engine::TimeMs now);
  // Whether CLIENT KILL has closed this client.
  bool is_killed() const { return is_killed_; }

 private:
  command::Client& client() { return pipeline_.client(); }
  const command::Client& client() const { return pipeline_.client(); }

  void NoticeOutput() override { notice_(); }
  bool AdmitOutput(std::size_t) override { return false; }
  void CloseNow() override;

  // Returns false if the password is still being compared.
  bool LogIn(std::string_view basic, engine::TimeMs now);

  command::ServerParts& server_;
  const std::function<void()> notice_;
  command::RequestPipeline pipeline_;
  std::optional<protocol::Reply> log_in_error_;
  bool has_logged_in_ = false;
  bool is_killed_ = false;
  std::size_t unsent_bytes_ = 0;  // of replies
};

// Walks over all locks, one page per turn. Uses the command LOCKS. Loop-confined.
class LockWalk {
 public:
  // The number of locks examined per turn. This many take a few hundredths of a millisecond, which
  // hardly delays requests.
  static constexpr const char* kLocksPerStep = "20";

  // `options` are those of LOCKS, such as MATCH and its glob.
  explicit LockWalk(std::vector<std::string> options) : options_(std::move(options)) {}

  // Visits the rows of the next page; returns true after the last page. An error ends the walk too.
  bool Step(CommandCaller& commands, engine::TimeMs now,
            const std::function<void(protocol::Reply& row)>& visit);
  const std::optional<protocol::Reply>& error() const { return error_; }

 private:
  std::vector<std::string> options_;
  std::string cursor_ = "0";
  std::optional<protocol::Reply> error_;
};

}  // namespace fairlock::http
