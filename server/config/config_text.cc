#include "server/config/config_text.h"

#include <yaml-cpp/yaml.h>

#include <string_view>

#include "server/config/config_options.h"
#include "server/process/version.h"

namespace fairlock::server {

namespace {

constexpr std::size_t kColumns = 100;

// `text` in lines of at most kColumns, each behind `margin`; the first begins at column `column`.
std::string Wrapped(std::string_view text, const std::string& margin, std::size_t column) {
  std::string wrapped;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > margin.size() && column + 1 + end > kColumns) {
      wrapped += "\n" + margin;
      column = margin.size();
    } else if (!wrapped.empty()) {
      wrapped += ' ';
      ++column;
    }
    wrapped += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped;
}

// A value as a YAML scalar that reads back as the same text.
std::string YamlScalar(const Option& option, const std::string& value) {
  const bool is_plain =
      option.type != OptionType::kText && option.type != OptionType::kList &&
      option.type != OptionType::kLabelRules && option.type != OptionType::kKeepRules &&
      option.type != OptionType::kPermissions && option.type != OptionType::kKeyEvents;
  if (is_plain) return value;
  YAML::Emitter quoted;
  quoted << YAML::DoubleQuoted << value;
  return quoted.c_str();
}

std::string_view ValueWord(OptionType type) {
  switch (type) {
    case OptionType::kNumber:
      return "NUMBER";
    case OptionType::kDuration:
    case OptionType::kSeconds:
      return "DURATION";
    case OptionType::kSize:
      return "SIZE";
    case OptionType::kPermissions:
      return "MODE";
    case OptionType::kList:
    case OptionType::kLabelRules:
    case OptionType::kKeepRules:
      return "LIST";
    case OptionType::kText:
      return "TEXT";
    case OptionType::kChoice:
      return "WORD";
    case OptionType::kKeyEvents:
      return "LETTERS";
  }
  return "";
}

std::string HelpEntry(const std::string& left, const std::string& right) {
  constexpr std::size_t kRightColumn = 36;
  std::string entry = "  " + left;
  if (entry.size() + 2 > kRightColumn) {
    entry += "\n" + std::string(kRightColumn, ' ');
  } else {
    entry.resize(kRightColumn, ' ');
  }
  return entry + Wrapped(right, std::string(kRightColumn, ' '), kRightColumn) + "\n";
}

}  // namespace

std::string ConfigFileText(const Config& config) {
  std::string text =
      "# Options of fairlockd. Each stands here with its default; --option-name on the command "
      "line\n"
      "# goes before what the file says. Durations: ms, s, m, h, d. Sizes: b, kb, mb, gb, of "
      "1024.\n"
      "# Changeable: also while the server runs, by CONFIG SET.\n";
  for (const Option& option : AllOptions()) {
    const std::string values =
        "Right: " + DescribeValues(option) + (option.is_changeable ? "; changeable." : ".");
    text += "\n# " + Wrapped(option.comment, "# ", 2) + "\n# " + Wrapped(values, "# ", 2) + "\n";
    text += std::string(option.name) + ": " + YamlScalar(option, ShowOption(option, config)) + "\n";
  }
  return text;
}

std::string HelpText() {
  std::string text = "fairlockd " + std::string(Version()) +
                     ", a lock server\n\n"
                     "fairlockd [--config FILE] [--OPTION VALUE]...\n\n";
  text += HelpEntry("--config FILE", "Read options from this YAML file.");
  text += HelpEntry("--check-config", "Say whether all options are right, and exit.");
  text += HelpEntry("--print-config", "Print all options as a configuration file, and exit.");
  text +=
      HelpEntry("--check-data",
                "Read all of the data folder, say what is in it and what is damaged, and exit.");
  text += HelpEntry("--init", "Begin anew in an empty data folder, although it had data before.");
  text += HelpEntry("--restore BACKUP", "Make the data folder from a backup, and exit.");
  text += HelpEntry("--hash-password",
                    "Read a password from standard input, print its hash for requirepass or "
                    "acl_file, and exit.");
  text += HelpEntry("--version", "Print the version, and exit.");
  text += HelpEntry("--help", "Print this, and exit.");
  text +=
      "\nOptions; they go before what the file says, where a name is written with _ for each "
      "-:\n\n";
  for (const Option& option : AllOptions()) {
    const std::string left =
        CommandLineName(option.name) + " " + std::string(ValueWord(option.type));
    std::string right(option.comment);
    const std::string value = ShowOption(option, DefaultConfig());
    if (!value.empty()) right += " Default: " + value + ".";
    text += HelpEntry(left, right);
  }
  text +=
      "\nExit status: 0 after a clean stop, 1 if it cannot start or go on, 2 if an option is "
      "wrong,\n3 if writing to the disk has failed.\n";
  return text;
}

}  // namespace fairlock::server
