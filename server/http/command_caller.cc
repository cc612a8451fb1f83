#include "server/http/command_caller.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "json/base64.h"
#include "protocol/reply_parser.h"
#include "protocol/request_parser.h"
#include "protocol/request_writer.h"
#include "server/command/text.h"

namespace fairlock::http {

namespace {

constexpr std::string_view kBasic = "Basic ";

std::string TextOf(const protocol::WireError& error) {
  return std::string(protocol::Word(error.code)).append(" ").append(error.text);
}

protocol::Reply ErrorReply(std::string_view text) {
  return {.type = protocol::ReplyType::kError, .text = std::string(text)};
}

struct UserAndPassword {
  std::string user;
  std::string password;
};

// RFC 7617; none: it is not that.
std::optional<UserAndPassword> Decoded(std::string_view basic) {
  const std::optional<std::string> text = json::DecodeBase64(basic);
  if (!text) return std::nullopt;
  const std::size_t colon = text->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return UserAndPassword{.user = text->substr(0, colon), .password = text->substr(colon + 1)};
}

}  // namespace

CommandCaller::CommandCaller(command::Dispatcher& dispatcher, command::ClientAddress address,
                             engine::TimeMs now, std::function<void()> notice)
    : dispatcher_(dispatcher),
      notice_(std::move(notice)),
      client_(dispatcher, *this, std::move(address), now) {
  client_.LogIn(dispatcher.access().own_user());
  client_.profile().name = "http";
  client_.set_must_prove_itself();
  client_.set_version(protocol::RespVersion::kResp3);
  ++dispatcher.gauges().http_clients;
}

void CommandCaller::Detach(engine::TimeMs now) {
  --dispatcher_.gauges().http_clients;
  client_.Detach(now);
}

bool CommandCaller::Identify(std::string_view authorization, engine::TimeMs now) {
  Forget();
  // The name of a scheme is in any case, and any number of spaces may follow.
  const bool is_basic = command::EqualsIgnoreCase(authorization.substr(0, kBasic.size()), kBasic);
  if (!is_basic) return true;
  const std::size_t begin = authorization.find_first_not_of(' ', kBasic.size());
  return LogIn(authorization.substr(std::min(begin, authorization.size())), now);
}

void CommandCaller::Forget() {
  const access::User& own = dispatcher_.access().own_user();
  if (client_.user() != &own && !is_killed_) client_.LogIn(own);
  log_in_error_.reset();
  has_logged_in_ = false;
}

void CommandCaller::CloseNow() {
  is_killed_ = true;
  notice_();
}

bool CommandCaller::LogIn(std::string_view basic, engine::TimeMs now) {
  const std::optional<UserAndPassword> given = Decoded(basic);
  if (!given) {
    log_in_error_ = ErrorReply("NOAUTH Authorization: Basic is not base64 of USER:PASSWORD");
    return true;
  }
  std::string request;
  protocol::AppendRequest(request, {"AUTH", given->user, given->password});
  client_.Consume(request, 1, now);
  if (client_.is_waiting()) return false;
  EndLogIn();
  return true;
}

void CommandCaller::EndLogIn() {
  protocol::Reply reply = TakeReply();
  has_logged_in_ = !reply.IsError();
  if (reply.IsError()) log_in_error_ = std::move(reply);
}

std::string CommandCaller::Judge(std::span<const std::string_view> request) const {
  if (!client_.is_limited()) return "";
  const command::CommandTable& table = dispatcher_.commands();
  std::size_t row = table.IndexOf(request.front());
  assert(row != command::CommandTable::kNone);
  if (command::HasSubcommands(*table.rows()[row])) {
    row = table.IndexOfSubcommand(*table.rows()[row], request[1]);
  }
  return dispatcher_.access().Judge(user(), row, request);
}

bool CommandCaller::MayRun(std::string_view command) const {
  const std::size_t row = dispatcher_.commands().IndexOf(command);
  assert(row != command::CommandTable::kNone);
  return !client_.is_limited() || user().commands.test(row);
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
    return ErrorReply(TextOf(judged.error));
  }
  const std::size_t consumed = client_.Consume(request, 1, now);
  assert(consumed == request.size() && !client_.is_waiting());
  return TakeReply();
}

protocol::Reply CommandCaller::TakeReply() {
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
