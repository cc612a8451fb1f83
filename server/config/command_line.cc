#include "server/config/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <vector>

#include "server/command/table/text.h"
#include "server/config/config_file.h"
#include "server/config/config_options.h"

namespace fairlock::server {

namespace {

// The arguments as given, not yet validated.
struct GivenOptions {
  bool check_config = false;
  bool print_config = false;
  bool check_data = false;
  bool salvage = false;
  bool initialise = false;
  bool hash_password = false;
  bool version = false;
  bool help = false;
  std::string config_file;
  std::string backup;
  std::string imported;
  std::string partitions;
  std::string copied_fleet;
  std::string copied_etcd;
  std::vector<std::vector<std::string>> values;  // indexed like AllOptions(); the last value wins
};

// CLI11 takes some values for more than text: "{}" for none, and nothing after `=` for the next
// word. So each value gets a zero byte, which no argument of a process can contain, before it is
// parsed.
constexpr char kValueMark = '\0';

std::string ValueOf(const std::string& word) {
  return word.starts_with(kValueMark) ? word.substr(1) : word;
}

// In reverse order, as CLI11 expects it.
std::vector<std::string> MarkValues(const CLI::App& app, std::span<const char* const> arguments) {
  const auto takes_value = [&](const std::string& name) {
    const CLI::Option* const option = app.get_option_no_throw(name);
    return option != nullptr && option->get_expected_max() > 0;
  };
  std::vector<std::string> reversed;
  bool is_value = false;
  for (std::string word : arguments) {
    const std::size_t equals = word.find('=');
    const bool is_option =
        !is_value && word.starts_with("--") && takes_value(word.substr(0, equals));
    if (is_value) word.insert(0, 1, kValueMark);
    if (is_option && equals != std::string::npos) word.insert(equals + 1, 1, kValueMark);
    is_value = is_option && equals == std::string::npos;
    reversed.insert(reversed.begin(), word);
  }
  return reversed;
}

// A script whose variable is empty must not start a server, or create an empty fleet.
std::string RefuseEmpty(const std::string& word) {
  return ValueOf(word).empty() ? "the value must not be empty" : "";
}

void AddText(CLI::App& app, const std::string& name, std::string& target) {
  const CLI::callback_t take = [&target](const CLI::results_t& words) {
    target = ValueOf(words.back());
    return true;
  };
  app.add_option(name, take)->check(RefuseEmpty);
}

void Describe(CLI::App& app, GivenOptions& given) {
  app.set_help_flag();
  app.allow_extras();
  app.add_flag("--check-config", given.check_config);
  app.add_flag("--print-config", given.print_config);
  app.add_flag("--check-data", given.check_data);
  app.add_flag("--salvage", given.salvage);
  app.add_flag("--init", given.initialise);
  AddText(app, "--restore", given.backup);
  AddText(app, "--import", given.imported);
  AddText(app, "--create-fleet", given.partitions);
  AddText(app, "--copy-from", given.copied_fleet);
  AddText(app, "--copy-from-etcd", given.copied_etcd);
  app.add_flag("--hash-password", given.hash_password);
  app.add_flag("--version", given.version);
  app.add_flag("--help,-h", given.help);
  AddText(app, "--config", given.config_file);
  given.values.resize(AllOptions().size());
  for (std::size_t i = 0; i < AllOptions().size(); ++i) {
    const CLI::callback_t take = [&values = given.values[i]](const CLI::results_t& words) {
      values.clear();
      std::ranges::transform(words, std::back_inserter(values), ValueOf);
      return true;
    };
    app.add_option(CommandLineName(AllOptions()[i].name), take)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

std::string NameInFile(std::string_view argument) {
  std::string name(argument.substr(0, argument.find('=')));
  name.erase(0, name.find_first_not_of('-'));
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string ExplainUnknown(const std::string& argument) {
  std::string text = "command line: " + command::Quoted(argument);
  if (!argument.starts_with("-")) {
    return text +
           " belongs to no option: use `--option value`, or --config FILE for a configuration "
           "file";
  }
  text += " is not an option; ";
  const std::string_view nearest = NearestOptionName(NameInFile(argument));
  if (!nearest.empty()) text += "did you mean " + CommandLineName(nearest) + "? ";
  return text + "`fairlockd --help` lists all options";
}

std::string ExplainMissingValue(std::span<const char* const> arguments, const CLI::Error& error) {
  // CLI11's message begins with the name of the option that it was parsing.
  const std::string message = error.what();
  const std::string name = message.substr(0, message.find_first_of(": "));
  for (const Option& option : AllOptions()) {
    if (CommandLineName(option.name) != name) continue;
    return "command line: " + name + " must be " + DescribeValues(option) + ", got no value";
  }
  const bool is_config = !arguments.empty() && name == "--config";
  return "command line: " + message + (is_config ? "; use --config FILE" : "");
}

std::string ApplyGiven(const GivenOptions& given, Config& config) {
  for (std::size_t i = 0; i < AllOptions().size(); ++i) {
    const Option& option = AllOptions()[i];
    if (given.values[i].empty()) continue;
    std::string value = given.values[i].back();
    if (IsList(option)) {
      value.clear();
      for (const std::string& part : given.values[i]) value += part + ",";
    }
    const std::string right = SetOption(option, value, config);
    if (right.empty()) continue;
    return "command line: " + CommandLineName(option.name) + " must be " + right + ", got " +
           command::Quoted(value);
  }
  return "";
}

// Returns what is wrong with the options that copy a fleet, or an empty string.
std::string CheckCopy(const GivenOptions& given) {
  if (given.copied_fleet.empty() && given.copied_etcd.empty()) return "";
  if (given.partitions.empty()) {
    return "command line: --copy-from needs --create-fleet N, the new number of partitions";
  }
  if (given.copied_fleet.empty()) {
    return "command line: --copy-from-etcd needs --copy-from FLEET, the fleet to copy";
  }
  return "";
}

Action ActionOf(const GivenOptions& given) {
  if (given.help) return Action::kShowHelp;
  if (given.version) return Action::kShowVersion;
  if (given.print_config) return Action::kPrintConfig;
  if (given.check_config) return Action::kCheckConfig;
  if (given.check_data) return Action::kCheckData;
  if (given.salvage) return Action::kSalvage;
  if (given.hash_password) return Action::kHashPassword;
  if (!given.imported.empty()) return Action::kImport;
  if (!given.partitions.empty()) return Action::kCreateFleet;
  return given.backup.empty() ? Action::kRun : Action::kRestore;
}

// Parses the command line into `given`. Returns the error, or an empty string.
std::string ParseArguments(std::span<const char* const> arguments, GivenOptions& given) {
  CLI::App app;
  Describe(app, given);
  std::vector<std::string> reversed = MarkValues(app, arguments);
  try {
    app.parse(reversed);
  } catch (const CLI::Error& error) {
    return ExplainMissingValue(arguments, error);
  }
  const std::vector<std::string> unknown = app.remaining();
  return unknown.empty() ? "" : ExplainUnknown(unknown.front());
}

}  // namespace

CommandLine ReadCommandLine(std::span<const char* const> arguments) {
  CommandLine line;
  line.config = DefaultConfig();
  GivenOptions given;
  line.error = ParseArguments(arguments, given);
  line.action = ActionOf(given);
  const bool is_about_config =
      line.action != Action::kShowHelp && line.action != Action::kShowVersion;
  if (!line.error.empty() || !is_about_config) return line;
  if (!given.config_file.empty()) {
    line.config_file = std::filesystem::absolute(given.config_file).string();
    line.error = ReadConfigFile(given.config_file, line.config);
  }
  if (line.error.empty()) line.error = ApplyGiven(given, line.config);
  line.initialises = given.initialise;
  line.backup = given.backup;
  line.imported = given.imported;
  line.partitions = given.partitions;
  line.copied_fleet = given.copied_fleet;
  line.copied_etcd = given.copied_etcd;
  if (line.error.empty()) line.error = CheckCopy(given);
  if (line.error.empty()) line.error = CheckFiles(line.config);
  return line;
}

}  // namespace fairlock::server
