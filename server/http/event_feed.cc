#include "server/http/event_feed.h"

#include <utility>
#include <vector>

#include "protocol/reply_parser.h"
#include "protocol/request_writer.h"

namespace fairlock::http {

namespace {

// The answer to PSUBSCRIBE is a push too: of messages the last element is the JSON.
constexpr std::string_view kMessage = "pmessage";

// PSUBSCRIBE to the channels of keys in all databases.
std::vector<std::string> Subscription(const access::User& user, std::string_view match) {
  std::vector<std::string> request = {"PSUBSCRIBE"};
  const auto add = [&](std::string_view database) {
    request.push_back("__lock@" + std::string(database) + "__:" + std::string(match));
  };
  if (user.IsUnlimited()) {
    // A star for the number of the database would match within keys too.
    add("?");
    add("??");
  } else {
    // Of limited users it must be seen which keys are meant.
    for (std::uint32_t database = 0; database < engine::kDatabases; ++database) {
      add(std::to_string(database));
    }
  }
  return request;
}

}  // namespace

std::string EventFeed::Judge(const CommandCaller& commands, std::string_view match) {
  const std::vector<std::string> request = Subscription(commands.user(), match);
  return commands.Judge(std::vector<std::string_view>(request.begin(), request.end()));
}

EventFeed::EventFeed(command::Dispatcher& dispatcher, const Watcher& watcher, engine::TimeMs now,
                     std::function<void()> notice)
    : dispatcher_(dispatcher),
      notice_(std::move(notice)),
      client_(dispatcher, *this, watcher.address, now) {
  client_.LogIn(watcher.user);
  client_.profile().name = "http-events";
  client_.set_version(protocol::RespVersion::kResp3);
  const std::vector<std::string> subscription = Subscription(watcher.user, watcher.match);
  std::string request;
  protocol::AppendRequest(request,
                          std::vector<std::string_view>(subscription.begin(), subscription.end()));
  client_.Consume(request, 1, now);
  ++dispatcher.gauges().http_clients;
}

void EventFeed::Detach(engine::TimeMs now) {
  --dispatcher_.gauges().http_clients;
  client_.Detach(now);
}

std::string EventFeed::TakeEvents() {
  std::string output;
  output.swap(client_.output());
  client_.NoticeTaken(output.size());
  client_.NoticeSent(output.size());
  std::string events;
  std::string_view rest = output;
  protocol::ReplyParser parser;
  protocol::Reply reply;
  std::size_t consumed = 0;
  while (!rest.empty() && parser.Parse(rest, reply, consumed) == protocol::ReplyStatus::kReply) {
    rest.remove_prefix(consumed);
    if (reply.elements.size() != 4 || reply.elements[0].text != kMessage) continue;
    events += events.empty() ? "[" : ",\n";
    events += reply.elements[3].text;
  }
  if (!events.empty()) events += "]";
  return events;
}

bool EventFeed::AdmitOutput(std::size_t bytes) {
  if (client_.output().size() + bytes <= kBytesMax) return true;
  CloseNow();
  return false;
}

void EventFeed::CloseNow() {
  is_over_ = true;
  notice_();
}

}  // namespace fairlock::http
