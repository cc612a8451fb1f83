#include "server/http/answers.h"

#include <algorithm>
#include <array>

#include "json/reply_json.h"

namespace fairlock::http {

namespace {

struct StatusOfWord {
  std::string_view word;
  unsigned status;
};

// Of all other words: the request was understood, but the locks do not allow it.
constexpr unsigned kOtherStatus = 409;
constexpr auto kStatuses = std::to_array<StatusOfWord>({
    {"ERR", 400},
    {"NOPERM", 403},
    {"NOAUTH", 401},
    {"FULL", 503},
    {"OOM", 503},
    {"STORAGE", 503},
    {"LOADING", 503},
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

Answer AnswerWith(std::string_view field, const protocol::Reply& reply) {
  if (reply.IsError()) return RefusalOf(reply);
  boost::json::object object;
  json::AddReply(object, field, reply);
  return JsonAnswer(object);
}

}  // namespace fairlock::http
