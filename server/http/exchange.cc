#include "server/http/exchange.h"

#include "json/json_text.h"

namespace fairlock::http {

Answer Refusal(unsigned status, std::string_view word, std::string_view text) {
  Answer answer{.status = status};
  answer.body = "{\"error\":{\"code\":";
  json::AppendJsonText(answer.body, word);
  answer.body += ",\"message\":";
  json::AppendJsonText(answer.body, text);
  answer.body += "}}\n";
  return answer;
}

}  // namespace fairlock::http
