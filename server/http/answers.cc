#include "server/http/answers.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

#include "json/reply_json.h"
#include "protocol/reply_parser.h"
#include "server/command/table/text.h"
#include "server/http/command_caller.h"

namespace fairlock::http {

namespace {

struct StatusOfWord {
  std::string_view word;
  unsigned status;
};

// The status for all other error codes, which mean that the request was valid, but that the state
// of the locks does not allow it.
constexpr unsigned kOtherStatus = 409;
constexpr auto kStatuses = std::to_array<StatusOfWord>({
    {"ERR", 400},
    {"NOPERM", 403},
    {"NOAUTH", 401},
    {"WRONGPASS", 401},
    {"FULL", 503},
    {"OOM", 503},
    {"STORAGE", 503},
    {"LOADING", 503},
    {"CLUSTERDOWN", 503},
    {"TRYAGAIN", 503},
});

}  // namespace

Answer JsonAnswer(const boost::json::object& object) {
  return {.body = json::Written(object) + "\n"};
}

Answer RefusalOf(const protocol::Reply& error) {
  const std::string_view text = error.text;
  const std::string_view word = text.substr(0, text.find(' '));
  const auto* found = std::find_if(kStatuses.begin(), kStatuses.end(),
                                   [word](const StatusOfWord& row) { return row.word == word; });
  const std::string_view rest = text.substr(std::min(word.size() + 1, text.size()));
  return Refusal(found == kStatuses.end() ? kOtherStatus : found->status, word, rest);
}

std::optional<Answer> RefuseDenied(CommandCaller& commands,
                                   std::initializer_list<std::string_view> request) {
  const std::string denial = commands.Judge(request);
  if (denial.empty()) return std::nullopt;
  ++commands.server().statistics.counters.denied_requests;
  return RefusalOf({.type = protocol::ReplyType::kError, .text = "NOPERM " + denial});
}

protocol::Reply ReplyOf(const std::function<void(protocol::ReplyWriter&)>& write) {
  std::string written;
  protocol::ReplyWriter writer(written, protocol::RespVersion::kResp3);
  write(writer);
  protocol::Reply reply;
  std::size_t parsed = 0;
  [[maybe_unused]] const protocol::ReplyStatus status =
      protocol::ReplyParser().Parse(written, reply, parsed);
  assert(status == protocol::ReplyStatus::kReply && parsed == written.size());
  return reply;
}

Answer AnswerWith(std::string_view field, const protocol::Reply& reply) {
  if (reply.IsError()) return RefusalOf(reply);
  boost::json::object object;
  json::AddReply(object, field, reply);
  return JsonAnswer(object);
}

std::optional<Answer> RefuseCount(const Inputs& inputs, std::int64_t count_max) {
  const std::int64_t count = inputs.Number("count", kRowsDefault);
  if (count >= 1 && count <= count_max) return std::nullopt;
  return Refusal(400, "ERR", "count must be from 1 to " + std::to_string(count_max));
}

std::string_view TakeUpTo(std::string_view& rest, std::string_view end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(std::min(at + end.size(), rest.size()));
  return taken;
}

void AddNumberOrText(boost::json::object& object, std::string_view name, std::string_view value) {
  if (const auto number = command::ParseInteger(value)) {
    object[name] = *number;
  } else {
    json::AddText(object, name, value);
  }
}

}  // namespace fairlock::http
