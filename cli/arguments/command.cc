#include "cli/arguments/command.h"

#include <cstdio>

#include "json/reply_json.h"

namespace fairlock::cli {

bool Context::Print(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0;
}

bool Context::PrintJson(const boost::json::value& value) const {
  return PrintJsonText(json::Written(value) + "\n");
}

bool Context::PrintJsonText(std::string_view text) const {
  return Print(out.is_terminal ? PrintableJson(text, out.charset) : std::string(text));
}

void Context::Say(std::string_view text) const {
  const std::string line = "fairlockctl: " + std::string(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Result<FleetLeaders> Context::FindLeaders() { return FleetLeaders::Find(client, settings, login); }

int Context::Conclude(const FleetLeaders& leaders, int status) const {
  for (const std::string& text : leaders.FailureTexts()) Say(text);
  const auto first = leaders.FirstFailure();
  return first ? first->exit_code : status;
}

void AddFailed(boost::json::object& object, const FleetLeaders& leaders) {
  if (!leaders.is_several()) return;
  boost::json::array failed;
  for (std::size_t partition = 0; partition < leaders.size(); ++partition) {
    const FleetLeaders::Leader& leader = leaders.leader(partition);
    if (!leader.failure) continue;
    boost::json::object row = {{"partition", partition}};
    json::AddText(row, "node", leader.node);
    json::AddText(row, "error", leader.failure->text);
    failed.push_back(std::move(row));
  }
  object["failed"] = std::move(failed);
}

}  // namespace fairlock::cli
