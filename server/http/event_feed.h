// What happens to locks, for one who watches over a WebSocket.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/command/client.h"
#include "server/command/dispatcher.h"
#include "server/command/transport.h"
#include "server/http/command_caller.h"

namespace fairlock::http {

// A client that is subscribed to the channels of locks. Loop-confined.
class EventFeed final : private command::Transport {
 public:
  // What may gather before it is taken.
  static constexpr std::size_t kBytesMax = 1024 * 1024;

  struct Watcher {
    command::ClientAddress address;
    const access::User& user;
    std::string_view match;  // a glob of keys, of all databases
  };

  // Why the user of `commands` may not watch that; empty: he may.
  static std::string Judge(const CommandCaller& commands, std::string_view match);

  // `notice` is called when there is something to take, or the feed is over; it must only take
  // note. REQUIRES: the watcher may watch that.
  EventFeed(command::Dispatcher& dispatcher, const Watcher& watcher, engine::TimeMs now,
            std::function<void()> notice);
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;
  // REQUIRES: detached.
  ~EventFeed() = default;

  // The events since the last call, as a JSON array; empty if there are none.
  std::string TakeEvents();
  // Whether something was told since the last call that must be kept before it may leave.
  bool TakeNews() { return client_.TakeNews(); }
  // More gathered than may, or CLIENT KILL has named it.
  bool is_over() const { return is_over_; }
  void Detach(engine::TimeMs now);

 private:
  void NoticeOutput() override { notice_(); }
  bool AdmitOutput(std::size_t bytes) override;
  void CloseNow() override;

  command::Dispatcher& dispatcher_;
  const std::function<void()> notice_;
  command::Client client_;
  bool is_over_ = false;
};

}  // namespace fairlock::http
