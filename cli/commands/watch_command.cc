// `watch`: prints events as they happen.
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cli/commands/all_commands.h"
#include "cli/commands/fleet_events.h"
#include "cli/connection/server_errors.h"
#include "cli/output/duration.h"
#include "cli/views/history.h"
#include "cli/views/lock_message.h"

namespace fairlock::cli {

namespace {

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
