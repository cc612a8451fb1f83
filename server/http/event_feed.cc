#include "server/http/event_feed.h"

#include <utility>
#include <vector>

#include "protocol/reply_parser.h"
#include "protocol/request_writer.h"
#include "server/command/auth/access_control.h"

namespace fairlock::http {

namespace {

// Distinguishes messages from the reply to PSUBSCRIBE, which is a push too. The last element of a
// message is the JSON.
constexpr std::string_view kMessage = "pmessage";

// Returns a PSUBSCRIBE to the lock channels of all databases; for a limited user, only to those
// that the user may hear.
std::vector<std::string> Subscription(const access::User& user, std::string_view match) {
  const auto channel = [&](std::string_view database) {
    return "__lock@" + std::string(database) + "__:" + std::string(match);
  };
  // Uses `?` and `??`, because a `*` in place of the database number could also match the beginning
  // of a key.
  if (user.IsUnlimited()) return {"PSUBSCRIBE", channel("?"), channel("??")};
  std::vector<std::string> request = {"PSUBSCRIBE"};
  for (std::uint32_t database = 0; database < engine::kDatabases; ++database) {
    std::string name = channel(std::to_string(database));
    if (command::AccessControl::MayHear(user, command::ChannelKind::kPattern, name)) {
      request.push_back(std::move(name));
    }
  }
  // Includes one channel anyway, so that the subscription is refused with the right error.
  if (request.size() == 1) request.push_back(channel("0"));
  return request;
}

}  // namespace

EventFeed::EventFeed(command::ServerParts& server, const Watcher& watcher, engine::TimeMs now)
    : server_(server), pipeline_(server.pipeline, *this, watcher.address, now) {
  server.sessions.LogIn(client(), watcher.user);
  client().profile.name = "http-events";
  client().profile.version = protocol::RespVersion::kResp3;
  ++server_.statistics.gauges.http_clients;
  if (watcher.match.size() > kMatchBytesMax) {
    error_ = {.type = protocol::ReplyType::kError,
              .text = "ERR match pattern must have at most " + std::to_string(kMatchBytesMax) +
                      " bytes, got " + std::to_string(watcher.match.size())};
    return;
  }
  const std::vector<std::string> subscription = Subscription(watcher.user, watcher.match);
  std::string request;
  protocol::AppendRequest(request,
                          std::vector<std::string_view>(subscription.begin(), subscription.end()));
  pipeline_.Consume(request, 1, now);
  protocol::Reply reply;
  std::size_t consumed = 0;
  const protocol::ReplyStatus status =
      protocol::ReplyParser().Parse(client().output.bytes(), reply, consumed);
  if (status == protocol::ReplyStatus::kReply && reply.IsError()) error_ = std::move(reply);
  ++server.statistics.gauges.http_clients;
}

void EventFeed::Detach(engine::TimeMs now) {
  --server_.statistics.gauges.http_clients;
  pipeline_.Detach(now);
}

std::string EventFeed::TakeEvents() {
  std::string output;
  output.swap(client().output.bytes());
  client().output.CountTaken(output.size());
  client().NoticeSent(output.size());
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
  if (client().output.bytes().size() + bytes <= kBytesMax) return true;
  CloseNow();
  return false;
}

void EventFeed::CloseNow() {
  is_over_ = true;
  NoticeOutput();
}

}  // namespace fairlock::http
