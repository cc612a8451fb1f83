#include "cli/run/run_report.h"

#include <cstdio>

#include "cli/output/printable.h"
#include "json/reply_json.h"

namespace fairlock::cli {

boost::json::object RunReport::ObjectOf(std::string_view event) const {
  protocol::Reply keys{.type = protocol::ReplyType::kArray};
  for (const std::string& key : options_.keys) {
    keys.elements.push_back({.type = protocol::ReplyType::kBulk, .text = key});
  }
  boost::json::object object;
  object["event"] = event;
  json::AddReply(object, "keys", keys);
  json::AddText(object, "owner", options_.owner);
  return object;
}

void RunReport::Print(const boost::json::object& object) const {
  std::string line = json::Written(object) + "\n";
  if (context_.errors.is_terminal) line = PrintableJson(line, context_.errors.charset);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void RunReport::Say(std::string_view event, const std::string& text) const {
  if (!options_.is_json) return context_.Say(text);
  boost::json::object object = ObjectOf(event);
  object["message"] = text;
  Print(object);
}

void RunReport::ReportNumber(std::string_view event, std::string_view field,
                             std::int64_t number) const {
  if (!options_.is_json) return;
  boost::json::object object = ObjectOf(event);
  object[field] = number;
  Print(object);
}

Result<int> RunReport::Conclude(Result<int> outcome) const {
  if (!options_.is_json || outcome) return outcome;
  Say("failed", outcome.failure().text);
  return outcome.failure().exit_code;
}

}  // namespace fairlock::cli
