#include "server/config/config_text.h"

#include <yaml-cpp/yaml.h>

#include <string_view>

#include "server/config/config_options.h"
#include "server/process/version.h"

namespace fairlock::server {

namespace {

constexpr std::size_t kColumns = 100;

// Wraps `text` to kColumns. Each line except the first begins with `margin`; the first begins at
// `column`.
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

// Quotes a value where needed, so that YAML reads it back unchanged.
std::string YamlScalar(const Option& option, const std::string& value) {
  const bool is_plain =
      option.type != OptionType::kText && option.type != OptionType::kFile &&
      option.type != OptionType::kList && option.type != OptionType::kLabelRules &&
      option.type != OptionType::kKeepRules && option.type != OptionType::kPermissions &&
      option.type != OptionType::kKeyEvents;
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
    case OptionType::kFile:
      return "FILE";
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
      "# Options of fairlockd, each with its default value. Options on the command line "
      "(--option-name)\n"
      "# take precedence over this file. Durations: ms, s, m, h, d. Sizes: b, kb, mb, gb, in "
      "multiples of\n# 1024. "
      "Changeable options can also be changed while the server runs, by CONFIG SET.\n";
  for (const Option& option : AllOptions()) {
    const std::string values =
        "Allowed: " + DescribeValues(option) + (option.is_changeable ? "; changeable." : ".");
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
  text += HelpEntry("--check-config", "Check whether all options are valid, and exit.");
  text += HelpEntry("--print-config", "Print all options as a configuration file, and exit.");
  text += HelpEntry("--check-data",
                    "Read the whole data folder, or the log of a fleet in etcd, report its "
                    "contents and any damage, and exit.");
  text += HelpEntry("--salvage",
                    "Keep the intact beginning of a damaged data folder, report which locks may be "
                    "missing, and exit.");
  text += HelpEntry("--init", "Start with an empty data folder, even if it had data before.");
  text += HelpEntry("--restore BACKUP", "Restore the data folder from a backup, and exit.");
  text += HelpEntry("--import DIR",
                    "Start the log of a new fleet with the locks from a data folder, and exit.");
  text += HelpEntry("--create-fleet N",
                    "Create a fleet of N partitions, which share the keys, and exit. The first "
                    "node of a fleet that does not exist creates it with one.");
  text += HelpEntry("--copy-from FLEET",
                    "With --create-fleet: fill the new fleet with the locks of FLEET, which must "
                    "be stopped.");
  text += HelpEntry("--copy-from-etcd ENDPOINTS",
                    "With --copy-from: the etcd that stores FLEET, if it is not cluster_etcd.");
  text += HelpEntry("--hash-password",
                    "Read a password from standard input, print its hash for requirepass or "
                    "acl_file, and exit.");
  text += HelpEntry("--version", "Print the version, and exit.");
  text += HelpEntry("--help", "Print this help, and exit.");
  text +=
      "\nOptions, which take precedence over the file; in the file, write _ for each - in "
      "a name:\n\n";
  for (const Option& option : AllOptions()) {
    const std::string left =
        CommandLineName(option.name) + " " + std::string(ValueWord(option.type));
    std::string right(option.comment);
    const std::string value = ShowOption(option, DefaultConfig());
    if (!value.empty()) right += " Default: " + value + ".";
    text += HelpEntry(left, right);
  }
  text +=
      "\nExit status: 0 after a clean stop, 1 if it cannot start or continue, 2 if an option is "
      "invalid,\n3 if writing to the disk has failed.\n";
  return text;
}

}  // namespace fairlock::server
