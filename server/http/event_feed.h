// Sends lock events to a client that watches over a WebSocket.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/reply.h"
#include "server/command/client/client.h"
#include "server/command/execution/request_pipeline.h"
#include "server/command/server_parts.h"

namespace fairlock::http {

// A client that is subscribed to the lock channels. Loop-confined.
class EventFeed final : private command::Transport {
 public:
  // The maximum number of bytes that may wait to be taken.
  static constexpr std::size_t kBytesMax = 1024 * 1024;
  // The channel glob begins with "__lock@15__:" and must not exceed the length limit for globs.
  static constexpr std::size_t kMatchBytesMax = engine::kGlobBytesMax - 12;

  struct Watcher {
    command::ClientAddress address;
    const access::User& user;
    std::string_view match;  // a glob of keys, for all databases
  };

  EventFeed(command::ServerParts& server, const Watcher& watcher, engine::TimeMs now);
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;
  // REQUIRES: Detach was called.
  ~EventFeed() = default;

  // Why the subscription failed; nullopt if it succeeded.
  const std::optional<protocol::Reply>& error() const { return error_; }
  // `notice` is called when there is something to take, or when the feed is over; it must only
  // record that.
  void set_notice(std::function<void()> notice) { notice_ = std::move(notice); }

  // Returns the events since the last call as a JSON array; an empty string if there are none.
  std::string TakeEvents();
  // Returns whether events since the last call may reveal the state of locks. If so, that state
  // must be persisted before they are sent.
  bool TakeStateDependency() { return client().output.TakeStateDependency(); }
  // Whether more than kBytesMax bytes waited, or CLIENT KILL has closed this client.
  bool is_over() const { return is_over_; }
  void Detach(engine::TimeMs now);

 private:
  command::Client& client() { return pipeline_.client(); }

  void NoticeOutput() override {
    if (notice_) notice_();
  }
  bool AdmitOutput(std::size_t bytes) override;
  void CloseNow() override;

  command::ServerParts& server_;
  std::function<void()> notice_;
  command::RequestPipeline pipeline_;
  std::optional<protocol::Reply> error_;
  bool is_over_ = false;
};

}  // namespace fairlock::http
