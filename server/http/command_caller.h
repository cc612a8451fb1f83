// One HTTP connection as a client of the commands: what it asks for is executed as they are.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "protocol/reply.h"
#include "server/command/client.h"
#include "server/command/dispatcher.h"
#include "server/command/transport.h"

namespace fairlock::http {

// It shows in CLIENT LIST, its user's permissions hold, and HISTORY names its address. Commands
// that wait are not to be called. Loop-confined.
class CommandCaller final : private command::Transport {
 public:
  CommandCaller(command::Dispatcher& dispatcher, command::ClientAddress address,
                engine::TimeMs now);
  CommandCaller(const CommandCaller&) = delete;
  CommandCaller& operator=(const CommandCaller&) = delete;
  // REQUIRES: detached.
  ~CommandCaller() = default;

  // In RESP3.
  protocol::Reply Call(std::span<const std::string_view> arguments, engine::TimeMs now);
  protocol::Reply Call(std::initializer_list<std::string_view> arguments, engine::TimeMs now) {
    return Call(std::span(arguments.begin(), arguments.size()), now);
  }
  void SelectDatabase(std::uint8_t database) { client_.set_database(database); }
  command::Dispatcher& dispatcher() { return dispatcher_; }

  // Whether something was told since the last call that must be kept before it may leave.
  bool TakeNews() { return client_.TakeNews(); }
  void Detach(engine::TimeMs now);
  // CLIENT KILL has named it.
  bool is_killed() const { return is_killed_; }

 private:
  void NoticeOutput() override {}
  bool AdmitOutput(std::size_t) override { return false; }
  void CloseNow() override { is_killed_ = true; }

  command::Dispatcher& dispatcher_;
  command::Client client_;
  bool is_killed_ = false;
};

}  // namespace fairlock::http
