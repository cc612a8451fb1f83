#include "cli/arguments/command.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

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

Result<std::size_t> ChoosePartition(const std::optional<std::int64_t>& given,
                                    const FleetLeaders& leaders, std::string_view reason) {
  const std::string count = std::to_string(leaders.size());
  if (!given && leaders.is_several()) {
    return Failure{kExitWrongUse, "--partition is required: the fleet has " + count +
                                      " partitions, and " + std::string(reason)};
  }
  const auto partition = static_cast<std::size_t>(given.value_or(0));
  if (partition >= leaders.size()) {
    return Failure{kExitWrongUse, "--partition must be less than " + count +
                                      ", the number of partitions, got " +
                                      std::to_string(partition)};
  }
  if (leaders.leader(partition).failure) return *leaders.leader(partition).failure;
  return partition;
}

Result<bool> Confirm(const Context& context, const std::string& question) {
  if (::isatty(STDIN_FILENO) != 1 || !context.out.is_terminal) {
    return Failure{kExitWrongUse,
                   "nothing was done: confirmation needs a terminal; --yes skips it"};
  }
  context.Print(question + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  const bool is_yes = answer == "y" || answer == "Y" || answer == "yes";
  if (!is_yes) context.Print("Nothing was done.\n");
  return is_yes;
}

}  // namespace fairlock::cli
