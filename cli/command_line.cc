#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/all_commands.h"
#include "cli/output/printable.h"
#include "cli/version.h"

namespace fairlock::cli {

namespace {

constexpr auto kOtherNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"acquire", "lock"},
    {"release", "unlock"},
    {"extend", "renew"},
    {"refresh", "renew"},
    {"ls", "locks"},
    {"list", "locks"},
    {"info", "status"},
    {"monitor", "watch"},
    {"events", "watch"},
    {"force", "break"},
    {"exec", "run"},
    {"get", "show"},
    {"sessions", "clients"},
});

// Damerau-Levenshtein distance (optimal string alignment).
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({changed, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      const bool is_exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchanged) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

// Returns the number of letters that only one of the two words has.
std::size_t DifferingLetters(std::string a, std::string b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::string others;
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(others));
  return others.size();
}

// Returns the name that differs from the word by the fewest missing, wrong, extra or transposed
// letters; among equally near names, prefers one with the same letters. Empty if none is near
// enough.
std::string Nearest(std::string_view word, const std::vector<std::string>& names) {
  const auto measure = [word](const std::string& name) {
    return std::pair(Distance(word, name), DifferingLetters(std::string(word), name));
  };
  const auto nearest = std::ranges::min_element(names, {}, measure);
  // With two mistakes, a short word can no longer be recognised.
  const std::size_t mistakes_max = word.size() < 4 ? 1 : 2;
  if (nearest == names.end() || measure(*nearest).first > mistakes_max) return "";
  return *nearest;
}

// Like Nearest(), but also knows the words that other tools use for these commands.
std::string SuggestCommand(std::string_view word, const std::vector<std::string>& names) {
  const auto* const other =
      std::ranges::find(kOtherNames, word, &std::pair<std::string_view, std::string_view>::first);
  return other == kOtherNames.end() ? Nearest(word, names) : std::string(other->second);
}

// "did you mean `locks`? ", or empty.
std::string Suggestion(const std::string& nearest) {
  return nearest.empty() ? "" : "did you mean `" + nearest + "`? ";
}

constexpr std::string_view kFooter =
    "Settings are also read from the environment (FAIRLOCK_HOST, ...) and from\n"
    "~/.config/fairlock/ctl.yaml. fairlockctl(1) has examples and the exit statuses.";

constexpr std::string_view kHelpCommand = "help";

// The values that CLI11 fills in; must not be moved until the line is parsed.
struct Given {
  std::map<std::string_view, std::string> settings;  // keyed by the row's name
  std::map<std::string_view, CLI::Option*> setting_options;
  std::string settings_path;
  CLI::Option* settings_path_option = nullptr;
  Action action;
};

void DescribeSettings(CLI::App& app, Given& given) {
  for (const SettingRow& row : AllSettings()) {
    const std::string letter = row.letter.empty() ? "" : "," + std::string(row.letter);
    const std::string names = FlagName(row) + letter;
    std::string& value = given.settings[row.name];
    const std::string help(row.help);
    CLI::Option* const option =
        row.is_switch ? app.add_flag(names, value, help) : app.add_option(names, value, help);
    if (!row.is_switch) option->type_name("VALUE");
    option->group("Which server")->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    given.setting_options[row.name] = option;
  }
  given.settings_path_option =
      app.add_option("--config", given.settings_path, "File with settings, instead of ctl.yaml")
          ->group("Which server")
          ->type_name("FILE");
}

CLI::App& FindParent(CLI::App& app, std::string& name) {
  const std::size_t blank = name.find(' ');
  if (blank == std::string::npos) return app;
  CLI::App& parent = *app.get_subcommand(name.substr(0, blank));
  name.erase(0, blank + 1);
  return parent;
}

void DescribeCommand(CLI::App& app, const CommandRow& row, Given& given) {
  std::string name(row.name);
  CLI::App& parent = FindParent(app, name);
  CLI::App* const command = parent.add_subcommand(name, std::string(row.summary));
  command->group(std::string(row.group))->fallthrough();
  if (row.describe == nullptr) {
    command->require_subcommand(1);
    return;
  }
  Arguments arguments(*command);
  // CLI11 calls only the callback of the given command.
  command->callback([&given, action = row.describe(arguments)] { given.action = action; });
}

void Describe(CLI::App& app, Given& given) {
  app.description("Inspects, takes and controls the locks of a fairlock server.");
  app.footer(std::string(kFooter));
  app.require_subcommand(1);
  app.set_version_flag("--version", "fairlockctl " + std::string(Version()));
  DescribeSettings(app, given);
  for (const CommandRow& row : AllCommands()) DescribeCommand(app, row, given);
}

std::vector<std::string> SplitChoices(const std::string& type_name) {
  std::vector<std::string> choices;
  std::istringstream words(type_name);
  for (std::string word; std::getline(words, word, '|');) choices.push_back(word);
  const bool are_words =
      choices.size() > 1 && std::ranges::none_of(choices, [](const auto& word) {
        return word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos;
      });
  return are_words ? choices : std::vector<std::string>();
}

// Determines the kind from the name of the positional argument or from the long option.
std::string CompletionKindOf(const CLI::Option& option) {
  const std::string place = option.get_name(true);
  if (place.find("KEY") != std::string::npos || place == "GLOB") return "keys";
  if (place == "OPTION") return "options";
  if (option.check_lname("label")) return "labels";
  return option.check_lname("key") && option.get_type_name() == "TEXT" ? "keys" : "";
}

OptionModel ModelOf(const CLI::Option& option) {
  OptionModel model{.names = {},
                    .help = option.get_description(),
                    .value = option.get_type_name(),
                    .choices = SplitChoices(option.get_type_name()),
                    .known_to_server = CompletionKindOf(option)};
  for (const std::string& name : option.get_lnames()) model.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) model.names.push_back("-" + name);
  if (option.get_expected_max() == 0) model.value.clear();
  return model;
}

std::vector<OptionModel> OptionsOf(const CLI::App& app) {
  std::vector<OptionModel> options;
  for (const CLI::Option* option : app.get_options()) options.push_back(ModelOf(*option));
  return options;
}

std::vector<const CLI::App*> SubcommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<CommandModel> CommandsOf(const CLI::App& app) {
  std::vector<CommandModel> commands;
  for (const CLI::App* command : SubcommandsOf(app)) {
    commands.push_back({.name = command->get_name(),
                        .summary = command->get_description(),
                        .options = OptionsOf(*command),
                        .commands = CommandsOf(*command)});
  }
  return commands;
}

SettingSource FlagSource(const Given& given) {
  std::map<std::string_view, GivenSetting> values;
  for (const SettingRow& row : AllSettings()) {
    if (given.setting_options.at(row.name)->count() == 0) continue;
    values[row.name] = {ValueOf(given.settings.at(row.name)), FlagName(row)};
  }
  return [values](const SettingRow& row) -> std::optional<GivenSetting> {
    const auto found = values.find(row.name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

// The words of the command line as CLI11 gets them: each value is marked, so that it is taken
// literally, whatever it contains.
struct SplitLine {
  std::vector<std::string> words;
  std::string command;  // empty if there is none
  std::size_t command_at = 0;
  std::vector<std::string> after_dashes;  // if the command wants them
};

bool WantsDashes(std::string_view name) {
  return std::ranges::any_of(
      AllCommands(), [&](const CommandRow& row) { return row.name == name && row.wants_dashes; });
}

class LineSplitter {
 public:
  explicit LineSplitter(const CLI::App& app) : app_(app), at_(&app) {}

  SplitLine Split(std::span<const char* const> arguments) {
    bool is_value = false;
    bool are_names = false;  // after `--`, no word is an option
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      std::string word = arguments[i];
      if (std::exchange(is_value, false)) {
        line_.words.push_back(MarkedValue(word));
      } else if (are_names || !word.starts_with('-') || word == "-") {
        AddName(word, i);
      } else if (word != "--") {
        is_value = MarkAttachedValue(word);
        line_.words.push_back(word);
      } else if (WantsDashes(line_.command)) {
        line_.after_dashes.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                  arguments.end());
        break;
      } else {
        are_names = true;
      }
    }
    return line_;
  }

 private:
  // Adds the name of a command, or a positional argument.
  void AddName(const std::string& word, std::size_t index) {
    const std::vector<const CLI::App*> commands = SubcommandsOf(*at_);
    if (at_ == &app_ && line_.command.empty()) {
      line_.command = word;
      line_.command_at = index;
    }
    const auto found = std::ranges::find(commands, word, &CLI::App::get_name);
    if (found != commands.end()) at_ = *found;
    line_.words.push_back(commands.empty() ? MarkedValue(word) : word);
  }

  bool TakesValue(const std::string& name) const {
    const CLI::Option* option = at_->get_option_no_throw(name);
    if (option == nullptr) option = app_.get_option_no_throw(name);
    return option != nullptr && option->get_expected_max() > 0;
  }

  // Marks the value in "--owner=o", "-oo" or "-no". Returns true if the next word is the value.
  bool MarkAttachedValue(std::string& word) const {
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      if (!TakesValue(word.substr(0, equals))) return false;
      if (equals == std::string::npos) return true;
      word = word.substr(0, equals + 1) + MarkedValue(word.substr(equals + 1));
      return false;
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
      if (!TakesValue({'-', word[i]})) continue;
      if (i + 1 == word.size()) return true;
      word = word.substr(0, i + 1) + MarkedValue(word.substr(i + 1));
      return false;
    }
    return false;
  }

  const CLI::App& app_;
  const CLI::App* at_;  // the command that the words belong to
  SplitLine line_;
};

// Returns an error, or an empty string if the command exists.
std::string ExplainUnknownCommand(std::string_view word) {
  const auto rows = AllCommands();
  if (word.empty() || std::ranges::find(rows, word, &CommandRow::name) != rows.end()) return "";
  std::vector<std::string> names;
  for (const CommandRow& row : rows) names.emplace_back(row.name);
  return Quoted(word) + " is not a command; " + Suggestion(SuggestCommand(word, names)) +
         "`fairlockctl --help` lists the commands";
}

// The command that CLI11 was parsing, as typed.
std::string CurrentCommand(const CLI::App& app) {
  std::string words = "fairlockctl";
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    words += " " + at->get_name();
  }
  return words;
}

// The names that CLI11 would have accepted at that point.
std::vector<std::string> KnownNames(const CLI::App& app, bool are_options) {
  std::vector<std::string> names;
  const CLI::App* at = &app;
  while (true) {
    for (const OptionModel& option : are_options ? OptionsOf(*at) : std::vector<OptionModel>()) {
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
    if (at->get_subcommands().empty()) break;
    at = at->get_subcommands().front();
  }
  for (const CommandModel& command : are_options ? std::vector<CommandModel>() : CommandsOf(*at)) {
    names.push_back(command.name);
  }
  return names;
}

// Explains the first unknown word; empty if there is none.
std::string ExplainUnknownWord(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return "";
  const std::string word = ValueOf(words.front());
  const std::string command = CurrentCommand(app);
  const bool is_option = words.front().starts_with('-');  // a value is marked
  const std::vector<std::string> names = KnownNames(app, is_option);
  std::string text = Quoted(word);
  if (is_option) {
    // Any two single letters are near each other, so there is nothing to suggest.
    const bool is_long = word.starts_with("--");
    const std::string name = is_long ? word.substr(0, word.find('=')) : std::string();
    text += " is not an option; " + Suggestion(Nearest(name, names)) +
            "a name that begins with a dash must follow `--`";
  } else if (!names.empty()) {
    return text + " is not a command of `" + command + "`; " + Suggestion(Nearest(word, names)) +
           "`" + command + " --help` lists its commands";
  } else {
    text += " is an unexpected argument for `" + command + "`";
  }
  return text + "; `" + command + " --help` lists its arguments";
}

Failure Explain(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  // CLI11 puts a colon between the name of an argument and our text.
  const std::size_t colon = text.find(": must ");
  if (colon != std::string::npos) text.erase(colon, 1);
  return {kExitWrongUse, PrintableText(text, Charset::kUtf8) + "; `" + CurrentCommand(app) +
                             " --help` lists its arguments"};
}

// Reads `help limit set` as `limit set --help`.
SplitLine Split(const CLI::App& app, std::span<const char* const> arguments) {
  SplitLine line = LineSplitter(app).Split(arguments);
  const bool has_flag = std::ranges::find(line.words, "--help") != line.words.end();
  if (line.command != kHelpCommand || has_flag) return line;
  std::vector<const char*> words(arguments.begin(), arguments.end());
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(line.command_at));
  words.push_back("--help");
  return LineSplitter(app).Split(words);
}

}  // namespace

Result<CommandLine> ReadCommandLine(std::span<const char* const> arguments) {
  CLI::App app("", "fairlockctl");
  Given given;
  Describe(app, given);
  const SplitLine split = Split(app, arguments);
  const std::string unknown = ExplainUnknownCommand(split.command);
  if (!unknown.empty()) return Failure{kExitWrongUse, unknown};
  CommandLine line;
  line.after_dashes = split.after_dashes;
  // CLI11 takes the words in reverse order.
  std::vector<std::string> reversed(split.words.rbegin(), split.words.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::Success& wish) {
    std::ostringstream text;
    app.exit(wish, text, text);
    line.text_to_show = text.str();
    return line;
  } catch (const CLI::ParseError& error) {
    // The cause of a missing argument may be an unknown word.
    const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
    const bool may_be_word =
        code == CLI::ExitCodes::RequiredError || code == CLI::ExitCodes::ExtrasError;
    const std::string not_understood = may_be_word ? ExplainUnknownWord(app) : "";
    if (!not_understood.empty()) return Failure{kExitWrongUse, not_understood};
    if (split.command.empty())
      return Failure{kExitWrongUse, "COMMAND is required; `fairlockctl --help` lists the commands"};
    return Explain(app, error);
  }
  line.action = given.action;
  line.flags = FlagSource(given);
  if (given.settings_path_option->count() > 0) line.settings_path = ValueOf(given.settings_path);
  line.model = {.options = OptionsOf(app), .commands = CommandsOf(app)};
  return line;
}

}  // namespace fairlock::cli
