#include "server/http/command_caller.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "json/base64.h"
#include "protocol/reply_parser.h"
#include "protocol/request_parser.h"
#include "protocol/request_writer.h"
#include "server/command/table/text.h"

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

// Decodes credentials as RFC 7617 defines them; nullopt if the text is malformed.
std::optional<UserAndPassword> Decoded(std::string_view basic) {
  const std::optional<std::string> text = json::DecodeBase64(basic);
  if (!text) return std::nullopt;
  const std::size_t colon = text->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return UserAndPassword{.user = text->substr(0, colon), .password = text->substr(colon + 1)};
}

}  // namespace

CommandCaller::CommandCaller(command::ServerParts& server, command::ClientAddress address,
                             engine::TimeMs now, std::function<void()> notice)
    : server_(server),
      notice_(std::move(notice)),
      pipeline_(server.pipeline, *this, std::move(address), now) {
  server.sessions.LogIn(client(), server.access.own_user());
  client().profile.name = "http";
  client().rights.set_must_prove_itself();
  client().profile.version = protocol::RespVersion::kResp3;
  ++server.statistics.gauges.http_clients;
}

void CommandCaller::Detach(engine::TimeMs now) {
  --server_.statistics.gauges.http_clients;
  pipeline_.Detach(now);
}

bool CommandCaller::Identify(std::string_view authorization, engine::TimeMs now) {
  Forget();
  // The scheme's name is case-insensitive, and any number of spaces may follow it.
  const bool is_basic = command::EqualsIgnoreCase(authorization.substr(0, kBasic.size()), kBasic);
  if (!is_basic) return true;
  const std::size_t begin = authorization.find_first_not_of(' ', kBasic.size());
  return LogIn(authorization.substr(std::min(begin, authorization.size())), now);
}

void CommandCaller::Forget() {
  const access::User& own = server_.access.own_user();
  if (client().rights.user() != &own && !is_killed_) server_.sessions.LogIn(client(), own);
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
  pipeline_.Consume(request, 1, now);
  if (client().wait.is_waiting()) return false;
  EndLogIn();
  return true;
}

void CommandCaller::EndLogIn() {
  protocol::Reply reply = TakeReply();
  has_logged_in_ = !reply.IsError();
  if (reply.IsError()) log_in_error_ = std::move(reply);
}

std::string CommandCaller::Judge(std::span<const std::string_view> request) const {
  if (!client().rights.is_limited()) return "";
  const command::CommandTable& table = server_.table;
  std::size_t row = table.IndexOf(request.front());
  assert(row != command::CommandTable::kNone);
  if (command::HasSubcommands(*table.rows()[row])) {
    row = table.IndexOfSubcommand(*table.rows()[row], request[1]);
  }
  return server_.access.Judge(user(), row, request);
}

bool CommandCaller::MayRun(std::string_view command) const {
  const std::size_t row = server_.table.IndexOf(command);
  assert(row != command::CommandTable::kNone);
  return !client().rights.is_limited() || user().commands.test(row);
}

protocol::Reply CommandCaller::Call(std::span<const std::string_view> arguments,
                                    engine::TimeMs now) {
  std::optional<protocol::Reply> reply = Ask(arguments, now);
  assert(reply);
  return *std::move(reply);
}

std::optional<protocol::Reply> CommandCaller::Ask(std::span<const std::string_view> arguments,
                                                  engine::TimeMs now) {
  std::string request;
  protocol::AppendRequest(request, arguments);
  // Checks the limits first, because executing a request that exceeds them would close this client,
  // just as it closes a connection.
  protocol::Arguments judged_arguments;
  const protocol::ParseResult judged =
      protocol::RequestParser().Parse(request, server_.pipeline.limits, judged_arguments);
  if (judged.status == protocol::ParseStatus::kError) {
    return ErrorReply(TextOf(judged.error));
  }
  const std::size_t consumed = pipeline_.Consume(request, 1, now);
  assert(consumed == request.size());
  if (is_waiting()) return std::nullopt;
  return TakeReply();
}

protocol::Reply CommandCaller::TakeReply() {
  std::string output;
  output.swap(client().output.bytes());
  client().output.CountTaken(output.size());
  unsent_bytes_ += output.size();
  protocol::Reply reply;
  std::size_t parsed = 0;
  const protocol::ReplyStatus status = protocol::ReplyParser().Parse(output, reply, parsed);
  assert(status == protocol::ReplyStatus::kReply && parsed == output.size());
  return reply;
}

bool LockWalk::Step(CommandCaller& commands, engine::TimeMs now,
                    const std::function<void(protocol::Reply& row)>& visit) {
  std::vector<std::string_view> arguments = {"LOCKS", cursor_, "COUNT", kLocksPerStep};
  arguments.insert(arguments.end(), options_.begin(), options_.end());
  protocol::Reply page = commands.Call(arguments, now);
  if (page.IsError()) {
    error_ = std::move(page);
    return true;
  }
  for (protocol::Reply& row : page.elements.at(1).elements) visit(row);
  cursor_ = page.elements.at(0).text;
  return cursor_ == "0";
}

}  // namespace fairlock::http
