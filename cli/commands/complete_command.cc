// `complete`: names that the server knows, for shell completion; `completion`: the script for a
// shell; `help COMMAND`: the same as `COMMAND --help`.
#include <array>
#include <memory>
#include <set>
#include <vector>

#include "cli/commands/all_commands.h"
#include "cli/commands/completion_scripts.h"
#include "cli/connection/reply_fields.h"
#include "cli/output/printable.h"
#include "cli/views/lock_walk.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

// A shell must not be kept waiting, and nobody picks from a longer list.
constexpr std::size_t kNamesMax = 200;
constexpr int kPagesWalked = 20;

using FoundNames = std::set<std::string>;

struct CompleteOptions {
  std::string kind;
  std::optional<std::string> prefix;
  bool is_json = false;
};

std::string PrefixGlob(std::string_view prefix) {
  std::string glob;
  for (const char c : prefix) {
    if (std::string_view("*?[]^\\").find(c) != std::string_view::npos) glob += '\\';
    glob += c;
  }
  return glob + "*";
}

// Names that some partitions of a fleet did not give are missing without a message, which would
// disturb the command line.
Result<FoundNames> FindKeys(const std::string& prefix, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  LockWalk walk(*leaders, {.glob = PrefixGlob(prefix), .database = context.settings.database});
  FoundNames names;
  for (int page = 0; page < kPagesWalked && names.size() < kNamesMax && !walk.is_over(); ++page) {
    const Result<std::vector<LockRow>> rows = walk.NextPage();
    if (!rows) return rows.failure();
    for (const LockRow& row : *rows) names.insert(row.key());
  }
  return names;
}

Result<FoundNames> FindLabels(Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  constexpr auto kRequest = std::to_array<std::string_view>({"STATS", "MINUTES", "1440"});
  const auto replies = leaders->AskAll(kRequest);
  if (!replies) return replies.failure();
  FoundNames names;
  for (const auto& [partition, stats] : *replies) {
    const protocol::Reply* const rows = FindField(stats, "labels");
    if (rows == nullptr) continue;
    for (const protocol::Reply& row : rows->elements) names.insert(TextField(row, "label"));
  }
  return names;
}

Result<FoundNames> FindOptions(Context& context) {
  const Result<protocol::Reply> options = context.client.Ask({"CONFIG", "GET", "*"});
  if (!options) return options.failure();
  FoundNames names;
  for (std::size_t i = 0; i < options->elements.size(); i += 2) {
    names.insert(options->elements[i].text);
  }
  return names;
}

Result<int> Complete(const CompleteOptions& options, Context& context) {
  const std::string prefix = options.prefix.value_or("");
  Result<FoundNames> names = options.kind == "keys"     ? FindKeys(prefix, context)
                             : options.kind == "labels" ? FindLabels(context)
                                                        : FindOptions(context);
  if (!names) return names.failure();
  boost::json::array array;
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix) || !IsShellWord(name) || ++count > kNamesMax) continue;
    array.emplace_back(name);
    text += name + "\n";
  }
  if (options.is_json) {
    context.PrintJson(boost::json::object{{"names", array}});
  } else {
    context.Print(text);
  }
  return kExitDone;
}

Action DescribeComplete(Arguments& arguments) {
  auto options = std::make_shared<CompleteOptions>();
  arguments.RequiredChoice("KIND", options->kind, {"keys", "labels", "options"},
                           "What to complete: keys, labels or options");
  arguments.Optional("PREFIX", options->prefix, "Prefix of the names");
  arguments.Flag("--json", options->is_json, "Print JSON");
  return [options](Context& context) { return Complete(*options, context); };
}

constexpr auto kCompleteCommands = std::to_array<CommandRow>({
    {"complete", kServer, "Prints names that the server knows, for shell completion",
     DescribeComplete},
});

Result<int> PrintCompletion(const std::string& shell, Context& context) {
  if (shell == "bash") context.Print(BashCompletion(context.model));
  if (shell == "zsh") context.Print(ZshCompletion(context.model));
  if (shell == "fish") context.Print(FishCompletion(context.model));
  return kExitDone;
}

Action DescribeCompletion(Arguments& arguments) {
  auto shell = std::make_shared<std::string>();
  arguments.RequiredChoice("SHELL", *shell, {"bash", "zsh", "fish"}, "Shell: bash, zsh or fish");
  return [shell](Context& context) { return PrintCompletion(*shell, context); };
}

constexpr auto kCompletionCommands = std::to_array<CommandRow>({
    {"completion", kServer, "Prints a completion script for a shell", DescribeCompletion},
});

// Never runs: ReadCommandLine() rewrites the line to --help.
Action DescribeHelp(Arguments& arguments) {
  auto words = std::make_shared<std::vector<std::string>>();
  arguments.Words("COMMAND", *words, "Command to explain (all commands)");
  return [words](Context&) { return Result<int>(kExitDone); };
}

constexpr auto kHelpCommands = std::to_array<CommandRow>({
    {"help", kServer, "Shows the usage of a command: help limit set", DescribeHelp},
});

}  // namespace

std::span<const CommandRow> CompleteCommands() { return kCompleteCommands; }

std::span<const CommandRow> CompletionCommands() { return kCompletionCommands; }

std::span<const CommandRow> HelpCommands() { return kHelpCommands; }

}  // namespace fairlock::cli
