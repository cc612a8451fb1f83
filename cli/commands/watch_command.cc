// `watch`: prints events as they happen.
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/commands/all_commands.h"
#include "cli/connection/async_connection.h"
#include "cli/connection/fleet_leaders.h"
#include "cli/connection/server_errors.h"
#include "cli/output/duration.h"
#include "cli/views/history.h"
#include "cli/views/lock_views.h"
#include "protocol/reply.h"

namespace fairlock::cli {

namespace {

// The messages on the channels of all partitions of a fleet. Subscribes to a pattern on the leader
// of each partition, because a leader publishes only the events of its own locks. If a leader is
// lost, says so once, and subscribes again as soon as a node leads its partition.
class FleetEvents {
 public:
  // `context` must outlive this object.
  FleetEvents(std::string pattern, const FleetLeaders& leaders, Context& context);

  // Returns the next message, or reply to a subscription, of any partition; nullopt at `until`.
  std::optional<protocol::Reply> Next(TimeMs until);

  // Whether every partition is subscribed.
  bool is_whole() const;

 private:
  struct Source {
    std::unique_ptr<AsyncConnection> connection;  // null: the partition is lost
    bool was_said = false;                        // the user knows that it is lost
  };

  void Subscribe(const FleetLeaders& leaders);
  std::optional<protocol::Reply> TakeReceived();
  void Lose(std::size_t partition, const std::string& reason);
  void FindLost();
  void WaitForEvents(TimeMs until);

  std::string pattern_;
  Context& context_;
  std::vector<Source> sources_;  // one per partition
  TimeMs find_at_ = kForever;    // when to look for the leaders of lost partitions
  std::size_t next_source_ = 0;  // takes turns, so that no partition waits for a busy one
};

constexpr DurationMs kNextFindMs = 500;
constexpr DurationMs kEventPollMsMax = 60'000;

FleetEvents::FleetEvents(std::string pattern, const FleetLeaders& leaders, Context& context)
    : pattern_(std::move(pattern)), context_(context), sources_(leaders.size()) {
  Subscribe(leaders);
}

void FleetEvents::Subscribe(const FleetLeaders& leaders) {
  for (std::size_t partition = 0; partition < sources_.size(); ++partition) {
    Source& source = sources_[partition];
    if (source.connection != nullptr || partition >= leaders.size()) continue;
    const FleetLeaders::Leader& leader = leaders.leader(partition);
    if (leader.failure) {
      Lose(partition, leader.failure->text);
      continue;
    }
    source.connection =
        std::make_unique<AsyncConnection>(leader.client->SettingsOfServer(), context_.login);
    source.connection->Open(NowMs());
    source.connection->Send({"PSUBSCRIBE", pattern_});
  }
}

void FleetEvents::Lose(std::size_t partition, const std::string& reason) {
  Source& source = sources_[partition];
  if (!source.was_said) {
    context_.Say("partition " + std::to_string(partition) + ": " + reason +
                 "; its events may be missed until a node leads it");
  }
  source.was_said = true;
  source.connection.reset();
  find_at_ = std::min(find_at_, NowMs() + kNextFindMs);
}

void FleetEvents::FindLost() {
  find_at_ = kForever;
  context_.client.Reconnect();
  const Result<FleetLeaders> leaders = context_.FindLeaders();
  if (leaders) {
    Subscribe(*leaders);
  } else {
    find_at_ = NowMs() + kNextFindMs;
  }
}

std::optional<protocol::Reply> FleetEvents::TakeReceived() {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const std::size_t partition = (next_source_ + i) % sources_.size();
    Source& source = sources_[partition];
    if (source.connection == nullptr) continue;
    // A standby accepts subscriptions, but publishes nothing.
    if (source.connection->is_ready() && source.connection->is_at_standby()) {
      Lose(partition, source.connection->ServerName() + " does not lead any more");
      continue;
    }
    if (auto reply = source.connection->Take()) {
      source.was_said = false;
      next_source_ = partition + 1;
      return reply;
    }
    if (source.connection->state() == AsyncConnection::State::kClosed) {
      Lose(partition, Failure(source.connection->end()).text);
    }
  }
  return std::nullopt;
}

void FleetEvents::WaitForEvents(TimeMs until) {
  std::vector<pollfd> polled;
  TimeMs wake_at = std::min(until, find_at_);
  for (const Source& source : sources_) {
    if (source.connection == nullptr) continue;
    polled.push_back(source.connection->Interest());
    wake_at = std::min(wake_at, source.connection->WakeAt());
  }
  const DurationMs left = std::clamp<DurationMs>(wake_at - NowMs(), 0, kEventPollMsMax);
  ::poll(polled.data(), polled.size(), static_cast<int>(left));
  for (const Source& source : sources_) {
    if (source.connection != nullptr) source.connection->Advance(NowMs());
  }
}

std::optional<protocol::Reply> FleetEvents::Next(TimeMs until) {
  while (true) {
    if (auto reply = TakeReceived()) return reply;
    if (NowMs() >= until) return std::nullopt;
    if (NowMs() >= find_at_) FindLost();
    WaitForEvents(until);
  }
}

bool FleetEvents::is_whole() const {
  return std::ranges::all_of(sources_,
                             [](const Source& source) { return source.connection != nullptr; });
}

constexpr std::size_t kEventWidth = 12;

struct WatchOptions {
  std::optional<std::string> glob;
  std::optional<std::int64_t> count;
  std::optional<DurationMs> duration_ms;
  bool is_json = false;
};

std::string ChannelPattern(const WatchOptions& options, const Context& context) {
  const auto& database = context.settings.database;
  return "__lock@" + (database ? std::to_string(*database) : "*") +
         "__:" + options.glob.value_or("*");
}

// The text of a message on a lock's channel; empty for any other push message.
std::string MessageOf(const protocol::Reply& push) {
  const bool is_message = push.elements.size() == 4 && push.elements[0].text == "pmessage";
  return is_message ? push.elements[3].text : "";
}

std::string EventLine(const LockMessage& message, const Screen& screen) {
  std::string event = screen.Printable(message.Text("event"));
  const Tint tint = TintOfEvent(event);
  event.resize(std::max(event.size(), kEventWidth), ' ');
  std::string line = ShowTimeOfDay(message.Number("at")) + "  " + screen.Tinted(event, tint) +
                     "  " + screen.Printable(message.Text("key")) + "  " +
                     screen.Printable(message.Text("owner"));
  if (message.Number("token") > 0) line += "  token " + std::to_string(message.Number("token"));
  if (message.Number("waited_ms") > 0) {
    line += "  waited " + ShowDuration(message.Number("waited_ms"));
  }
  if (message.Number("held_ms") > 0) line += "  held " + ShowDuration(message.Number("held_ms"));
  const std::string reason = message.Text("reason");
  if (!reason.empty()) line += "  " + screen.Printable(reason);
  if (message.Number("db") != 0) line += "  db " + std::to_string(message.Number("db"));
  return line + "\n";
}

// Subscribes; if the connection is lost, subscribes again on the next of several servers.
class Subscription {
 public:
  Subscription(std::string pattern, Context& context)
      : pattern_(std::move(pattern)), context_(context) {
    context_.client.Send({"PSUBSCRIBE", pattern_});
  }

  // Returns false if there is no other server, or if none has served locks for kSearchMs.
  bool Renew(const Failure& lost) {
    Client& client = context_.client;
    if (!client.has_choice()) return false;
    if (client.has_connected()) {
      search_until_ = NowMs() + kSearchMs;
      context_.Say(lost.text + "; events may be missed until another server takes over");
    }
    if (NowMs() >= search_until_) return false;
    std::this_thread::sleep_for(kNextSearch);
    client.Reconnect();
    client.Send({"PSUBSCRIBE", pattern_});
    return true;
  }

 private:
  static constexpr DurationMs kSearchMs = 30'000;
  static constexpr std::chrono::milliseconds kNextSearch{200};

  const std::string pattern_;
  Context& context_;
  TimeMs search_until_ = 0;
};

using NextMessage = std::function<Result<std::optional<protocol::Reply>>()>;

Result<int> PrintEvents(const WatchOptions& options, const NextMessage& next, Context& context) {
  std::int64_t left = options.count.value_or(INT64_MAX);
  while (left > 0) {
    const auto push = next();
    if (!push) return push.failure();
    if (!push->has_value()) break;
    if ((*push)->IsError()) return ServerFailure((*push)->text, context.client.ServerName());
    const std::string text = MessageOf(**push);
    if (text.empty()) continue;
    --left;
    const bool is_read = options.is_json ? context.PrintJsonText(text + "\n")
                                         : context.Print(EventLine(LockMessage(text), context.out));
    if (!is_read) break;
  }
  return kExitDone;
}

Result<int> WatchServer(const WatchOptions& options, TimeMs until, Context& context) {
  Subscription subscription(ChannelPattern(options, context), context);
  const auto next = [&]() -> Result<std::optional<protocol::Reply>> {
    while (true) {
      auto push = context.client.WaitForMessage(until);
      if (push || NowMs() >= until || !subscription.Renew(push.failure())) return push;
    }
  };
  return PrintEvents(options, next, context);
}

Result<int> WatchFleet(const WatchOptions& options, TimeMs until, const FleetLeaders& leaders,
                       Context& context) {
  FleetEvents events(ChannelPattern(options, context), leaders, context);
  const auto next = [&]() -> Result<std::optional<protocol::Reply>> { return events.Next(until); };
  const Result<int> status = PrintEvents(options, next, context);
  if (!status || events.is_whole()) return status;
  return kExitUnreachable;  // the loss of the partition has been reported
}

Result<int> Watch(const WatchOptions& options, Context& context) {
  const TimeMs until = options.duration_ms ? NowMs() + *options.duration_ms : kForever;
  const Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  return leaders->is_several() ? WatchFleet(options, until, *leaders, context)
                               : WatchServer(options, until, context);
}

Action DescribeWatch(Arguments& arguments) {
  auto options = std::make_shared<WatchOptions>();
  arguments.Optional("GLOB", options->glob, "Only keys that match: * ? [a-z]");
  arguments.Number("--count,-n", options->count, {1, INT64_MAX}, "Stop after this many events");
  arguments.Duration("--for", options->duration_ms, "Stop after this time");
  arguments.Flag("--json", options->is_json,
                 "One JSON object per line, as the server publishes it");
  return [options](Context& context) { return Watch(*options, context); };
}

constexpr auto kWatchCommands = std::to_array<CommandRow>({
    {"watch", kInspecting, "Prints lock events as they happen", DescribeWatch},
});

}  // namespace

std::span<const CommandRow> WatchCommands() { return kWatchCommands; }

}  // namespace fairlock::cli
