#include "server/http/command_caller.h"

#include <cassert>
#include <utility>

#include "protocol/reply_parser.h"
#include "protocol/request_parser.h"
#include "protocol/request_writer.h"

namespace fairlock::http {

namespace {

std::string TextOf(const protocol::WireError& error) {
  return std::string(protocol::Word(error.code)).append(" ").append(error.text);
}

}  // namespace

CommandCaller::CommandCaller(command::Dispatcher& dispatcher, command::ClientAddress address,
                             engine::TimeMs now)
    : dispatcher_(dispatcher), client_(dispatcher, *this, std::move(address), now) {
  client_.LogIn(dispatcher.access().own_user());
  client_.profile().name = "http";
  client_.set_version(protocol::RespVersion::kResp3);
  ++dispatcher.gauges().http_clients;
}

void CommandCaller::Detach(engine::TimeMs now) {
  --dispatcher_.gauges().http_clients;
  client_.Detach(now);
}

protocol::Reply CommandCaller::Call(std::span<const std::string_view> arguments,
                                    engine::TimeMs now) {
  std::string request;
  protocol::AppendRequest(request, arguments);
  // What is too long for the limits of requests would end the client like a connection.
  protocol::Arguments judged_arguments;
  const protocol::ParseResult judged =
      protocol::RequestParser().Parse(request, dispatcher_.limits(), judged_arguments);
  if (judged.status == protocol::ParseStatus::kError) {
    return {.type = protocol::ReplyType::kError, .text = TextOf(judged.error)};
  }
  const std::size_t consumed = client_.Consume(request, 1, now);
  assert(consumed == request.size() && !client_.is_waiting());
  std::string output;
  output.swap(client_.output());
  client_.NoticeTaken(output.size());
  client_.NoticeSent(output.size());
  protocol::Reply reply;
  std::size_t parsed = 0;
  const protocol::ReplyStatus status = protocol::ReplyParser().Parse(output, reply, parsed);
  assert(status == protocol::ReplyStatus::kReply && parsed == output.size());
  return reply;
}

}  // namespace fairlock::http
