#include "server/http/event_feed.h"

#include <utility>

#include "protocol/reply_parser.h"
#include "protocol/request_writer.h"

namespace fairlock::http {

namespace {

// The answer to PSUBSCRIBE is a push too: of messages the last element is the JSON.
constexpr std::string_view kMessage = "pmessage";

}  // namespace

EventFeed::EventFeed(command::Dispatcher& dispatcher, command::ClientAddress address,
                     std::string_view match, engine::TimeMs now, std::function<void()> notice)
    : dispatcher_(dispatcher),
      notice_(std::move(notice)),
      client_(dispatcher, *this, std::move(address), now) {
  client_.profile().name = "http-events";
  client_.set_version(protocol::RespVersion::kResp3);
  // A star for the number of the database would match within keys too.
  const std::string one_digit = "__lock@?__:" + std::string(match);
  const std::string two_digits = "__lock@??__:" + std::string(match);
  std::string request;
  protocol::AppendRequest(request, {"PSUBSCRIBE", one_digit, two_digits});
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
