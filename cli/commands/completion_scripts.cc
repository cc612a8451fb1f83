#include "cli/commands/completion_scripts.h"

#include <algorithm>

namespace fairlock::cli {

namespace {

// Puts the text in single quotes, for bash and zsh.
std::string InQuotes(std::string_view text) {
  std::string quoted = "'";
  for (const char character : text) {
    quoted += character == '\'' ? std::string("'\\''") : std::string(1, character);
  }
  return quoted + "'";
}

std::string FishQuotes(std::string_view text) {
  std::string quoted = "'";
  for (const char character : text) {
    if (character == '\'' || character == '\\') quoted += '\\';
    quoted += character;
  }
  return quoted + "'";
}

std::string Joined(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

bool IsPositional(const OptionModel& option) { return option.names.empty(); }

// Returns the options before the command that take their value as a separate word.
std::vector<std::string> NamesBeforeValues(const ProgramModel& model) {
  std::vector<std::string> names;
  for (const OptionModel& option : model.options) {
    if (option.value.empty()) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// Returns the words that may follow a command: its options, its subcommands, its choices.
std::vector<std::string> WordsAfter(const CommandModel& command) {
  std::vector<std::string> words;
  for (const CommandModel& below : command.commands) words.push_back(below.name);
  for (const OptionModel& option : command.options) {
    const std::vector<std::string>& more = IsPositional(option) ? option.choices : option.names;
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

// The KIND to pass to `complete` for the positional words after a command.
std::string KindAfter(const CommandModel& command) {
  for (const OptionModel& option : command.options) {
    if (IsPositional(option) && !option.known_to_server.empty()) return option.known_to_server;
  }
  return "";
}

// Returns `case` lines for bash, such as "--sort|-s)", that complete the values of options.
std::string BashChoices(const ProgramModel& model) {
  std::string text;
  for (const CommandModel& command : model.commands) {
    for (const OptionModel& option : command.options) {
      if (IsPositional(option)) continue;
      const std::string names = "    " + Joined(option.names, "|") + ") ";
      if (!option.choices.empty()) text += names + "choices='" + Joined(option.choices) + "' ;;\n";
      if (!option.known_to_server.empty()) {
        text += names + "kind=" + option.known_to_server + " is_value='' words='' ;;\n";
      }
    }
  }
  return text;
}

std::string BashCase(const CommandModel& command, const std::string& path) {
  std::string text = "    " + InQuotes(path) + ") words='" + Joined(WordsAfter(command)) + "'" +
                     " kind='" + KindAfter(command) + "' ;;\n";
  for (const CommandModel& below : command.commands) {
    text += BashCase(below, path.empty() ? below.name : path + " " + below.name);
  }
  return text;
}

CommandModel Root(const ProgramModel& model) {
  return {.name = "", .summary = "", .options = model.options, .commands = model.commands};
}

// Returns the commands that have subcommands: only after these is the second word part of the
// command.
std::string Groups(const ProgramModel& model) {
  std::vector<std::string> groups;
  for (const CommandModel& command : model.commands) {
    if (!command.commands.empty()) groups.push_back(command.name);
  }
  return Joined(groups);
}

std::string ZshEscaped(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    if (character == ':' || character == '[' || character == ']') escaped += '\\';
    escaped += character;
  }
  return escaped;
}

std::string ZshOption(const OptionModel& option, const std::string& name) {
  std::string text = name + "[" + ZshEscaped(option.help) + "]";
  if (!option.value.empty()) {
    text += ":" + ZshEscaped(option.value) + ":";
    if (!option.choices.empty()) text += "(" + Joined(option.choices) + ")";
    if (!option.known_to_server.empty()) text += "_fairlockctl_known " + option.known_to_server;
  }
  return "      " + InQuotes(text) + " \\\n";
}

std::string ZshArguments(const std::vector<OptionModel>& options) {
  std::string text;
  for (const OptionModel& option : options) {
    for (const std::string& name : option.names) text += ZshOption(option, name);
    if (IsPositional(option) && !option.choices.empty()) {
      text += "      " + InQuotes(":argument:(" + Joined(option.choices) + ")") + " \\\n";
    }
  }
  return text;
}

std::string ZshDescriptions(const std::vector<CommandModel>& commands) {
  std::string text;
  for (const CommandModel& command : commands) {
    text += "    " + InQuotes(command.name + ":" + command.summary) + "\n";
  }
  return text;
}

std::string ZshFunction(const CommandModel& command, const ProgramModel& model) {
  std::string text = "  " + command.name + ")\n";
  if (!command.commands.empty()) {
    text += "    commands=(\n" + ZshDescriptions(command.commands) + "    )\n" +
            "    if (( CURRENT == 2 )); then _describe command commands; return; fi\n";
  }
  text += "    _arguments \\\n" + ZshArguments(command.options);
  for (const CommandModel& below : command.commands) text += ZshArguments(below.options);
  std::string kind = KindAfter(command);
  for (const CommandModel& below : command.commands) kind += kind.empty() ? KindAfter(below) : "";
  const std::string rest = kind.empty() ? "_files" : "_fairlockctl_known " + kind;
  return text + ZshArguments(model.options) + "      '*: :" + rest + "'\n    ;;\n";
}

std::string FishKnown(const OptionModel& option) {
  return " -a '(__fairlockctl_known " + option.known_to_server + ")'";
}

std::string FishOption(const OptionModel& option, const std::string& condition) {
  if (IsPositional(option)) {
    if (!option.known_to_server.empty()) {
      return "complete -c fairlockctl" + condition + " -f" + FishKnown(option) + "\n";
    }
    if (option.choices.empty()) return "";
    return "complete -c fairlockctl" + condition + " -f -a " + FishQuotes(Joined(option.choices)) +
           "\n";
  }
  std::string text = "complete -c fairlockctl" + condition;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.empty()) text += " -x";
  if (!option.choices.empty()) text += " -a " + FishQuotes(Joined(option.choices));
  if (!option.known_to_server.empty()) text += FishKnown(option);
  return text + " -d " + FishQuotes(option.help) + "\n";
}

// `path` lists the parent commands, each preceded by a space.
std::string FishCommand(const CommandModel& command, const std::string& path) {
  std::string text = "complete -c fairlockctl -n '__fairlockctl_ends" + path + "' -f -a " +
                     FishQuotes(command.name) + " -d " + FishQuotes(command.summary) + "\n";
  const std::string own_path = path + " " + command.name;
  for (const OptionModel& option : command.options) {
    text += FishOption(option, " -n '__fairlockctl_begins" + own_path + "'");
  }
  for (const CommandModel& below : command.commands) text += FishCommand(below, own_path);
  return text;
}

// Returns functions that compare the command's words, leaving out options and their values, with
// the given words: exactly, or as a prefix.
std::string FishFunctions(const ProgramModel& model) {
  return "function __fairlockctl_words\n"
         "  set -l is_value no\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    if test $is_value = yes\n"
         "      set is_value no\n"
         "      continue\n"
         "    end\n"
         "    switch $word\n"
         "      case " +
         Joined(NamesBeforeValues(model)) +
         "\n"
         "        set is_value yes\n"
         "      case '-*'\n"
         "      case '*'\n"
         "        echo $word\n"
         "    end\n"
         "  end\n"
         "end\n"
         // Passes on the options before the command, which say where the server is.
         "function __fairlockctl_known\n"
         "  set -l settings\n"
         "  set -l is_value no\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    if test $is_value = yes\n"
         "      set -a settings $word\n"
         "      set is_value no\n"
         "      continue\n"
         "    end\n"
         "    switch $word\n"
         "      case " +
         Joined(NamesBeforeValues(model)) +
         "\n"
         "        set is_value yes\n"
         "        set -a settings $word\n"
         "    end\n"
         "  end\n"
         "  fairlockctl --timeout 1s $settings complete $argv[1] -- (commandline -ct) 2>/dev/null\n"
         "end\n"
         "function __fairlockctl_begins\n"
         "  set -l words (__fairlockctl_words)\n"
         "  string match -q -- \"$argv *\" \"$words \"\n"
         "end\n"
         "function __fairlockctl_ends\n"
         "  set -l words (__fairlockctl_words)\n"
         "  test \"$words\" = \"$argv\"\n"
         "end\n";
}

}  // namespace

std::string BashCompletion(const ProgramModel& model) {
  return "# Completes fairlockctl in bash.\n"
         "_fairlockctl() {\n"
         "  local words='' choices='' path='' kind='' word is_value='' groups=' " +
         Groups(model) +
         " '\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         // `whole` is the whole word: bash splits words at colons and equals signs.
         "  local whole=$current known; local -a settings=() found=()\n"
         "  if [ -n \"$COMP_LINE\" ]; then whole=${COMP_LINE:0:COMP_POINT}; "
         "whole=${whole##*[[:space:]]}; fi\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         // Bash splits words such as --port=1 and ::1.
         "    case $word in [=:]*) is_value=1; continue ;; esac\n"
         "    if [ -n \"$is_value\" ]; then settings+=(\"$word\"); is_value=''; continue; fi\n"
         "    case $word in\n"
         "      --) return ;;\n"
         "      " +
         Joined(NamesBeforeValues(model), "|") +
         ") is_value=1; settings+=(\"$word\") ;;\n"
         "      -*) ;;\n"
         "      *) if [ -z \"$path\" ]; then path=$word; "
         "elif [[ $groups == *\" $path \"* ]]; then path=\"$path $word\"; fi ;;\n"
         "    esac\n"
         "  done\n"
         "  case $whole in -*) ;; *:*) is_value='' ;; esac\n"
         "  case $path in\n" +
         BashCase(Root(model), "") +
         "  esac\n"
         "  if [ \"$current\" = = ]; then current=''; is_value=1;\n"
         "  elif [ \"$previous\" = = ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
         "  case $previous in\n" +
         BashChoices(model) +
         "  esac\n"
         "  if [ -n \"$choices\" ]; then words=$choices; elif [ -n \"$is_value\" ]; then return; "
         "fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "  case $whole in -*) kind='' ;; esac\n"
         "  if [ -z \"$kind\" ]; then return; fi\n"
         "  mapfile -t found < <(fairlockctl --timeout 1s \"${settings[@]}\" complete \"$kind\" "
         "-- \"$whole\" 2>/dev/null)\n"
         "  known=${whole%\"${whole##*[:=]}\"}\n"
         "  for word in \"${found[@]}\"; do COMPREPLY+=(\"${word#\"$known\"}\"); done\n"
         "}\n"
         "complete -o default -F _fairlockctl fairlockctl\n";
}

std::string ZshCompletion(const ProgramModel& model) {
  const std::string names = Joined(NamesBeforeValues(model));
  std::string text =
      "#compdef fairlockctl\n"
      "# Completes fairlockctl in zsh.\n"
      // Passes on the options before and after the command, which say where the server is.
      "_fairlockctl_known() {\n"
      "  local name; local -a found\n"
      "  for name in " +
      names +
      "; do\n"
      "    if (( ${+opt_args[$name]} )); then settings+=($name $opt_args[$name]); fi\n"
      "  done\n"
      "  found=(${(f)\"$(fairlockctl --timeout 1s $settings complete $1 -- \"$PREFIX\" "
      "2>/dev/null)\"})\n"
      "  compadd -a found\n"
      "}\n"
      "_fairlockctl() {\n"
      "  local -a commands settings\n"
      "  local context state state_descr line name\n"
      "  typeset -A opt_args\n"
      "  commands=(\n" +
      ZshDescriptions(model.commands) +
      "  )\n"
      "  _arguments -C \\\n" +
      ZshArguments(model.options) +
      "      '1: :->command' '*:: :->rest'\n"
      "  if [[ $state == command ]]; then _describe command commands; return; fi\n"
      "  for name in " +
      names +
      "; do\n"
      "    if (( ${+opt_args[$name]} )); then settings+=($name $opt_args[$name]); fi\n"
      "  done\n"
      "  case $line[1] in\n";
  for (const CommandModel& command : model.commands) text += ZshFunction(command, model);
  return text +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _fairlockctl ]; then _fairlockctl; "
         "else compdef _fairlockctl fairlockctl; fi\n";
}

std::string FishCompletion(const ProgramModel& model) {
  std::string text = "# Completes fairlockctl in fish.\n" + FishFunctions(model);
  for (const OptionModel& option : model.options) text += FishOption(option, "");
  for (const CommandModel& command : model.commands) {
    text += FishCommand(command, "");
  }
  return text;
}

}  // namespace fairlock::cli
