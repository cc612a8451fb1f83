#include "server/http/text_parts.h"

#include <algorithm>

#include "json/reply_json.h"
#include "server/command/table/text.h"

namespace fairlock::http {

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
