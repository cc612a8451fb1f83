#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/all_commands.h"

namespace fairlock::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<CommandLine> Read(std::initializer_list<const char*> arguments) {
  return ReadCommandLine(std::vector<const char*>(arguments));
}

std::string WrongIn(std::initializer_list<const char*> arguments) {
  const Result<CommandLine> line = Read(arguments);
  EXPECT_FALSE(line);
  if (line) return "";
  EXPECT_EQ(line.failure().exit_code, kExitWrongUse);
  return line.failure().text;
}

Settings SettingsIn(std::initializer_list<const char*> arguments) {
  const Result<CommandLine> line = Read(arguments);
  EXPECT_TRUE(line) << line.failure().text;
  const Result<Settings> settings = MergeSettings(std::vector{line->flags});
  EXPECT_TRUE(settings) << settings.failure().text;
  return *settings;
}

TEST(CommandLine, SettingsStandBeforeOrBehindTheCommand) {
  EXPECT_EQ(SettingsIn({"--host", "a", "-p", "5", "status"}).host, "a");
  const Settings settings = SettingsIn({"status", "--host=a", "-p", "5", "--db", "7"});
  EXPECT_EQ(settings.host, "a");
  EXPECT_EQ(settings.port, 5);
  EXPECT_EQ(settings.database, 7);
}

TEST(CommandLine, LastOfRepeatedSettingsCounts) {
  EXPECT_EQ(SettingsIn({"-p", "1", "status", "-p", "2"}).port, 2);
}

TEST(CommandLine, FileOfSettingsCanBeNamed) {
  EXPECT_EQ(Read({"--config", "/x.yaml", "status"})->settings_path, "/x.yaml");
  EXPECT_EQ(Read({"status"})->settings_path, std::nullopt);
}

TEST(CommandLine, EveryCommandHasAHelpOfItsOwn) {
  for (const CommandRow& row : AllCommands()) {
    if (row.describe == nullptr || row.name.find(' ') != std::string_view::npos) continue;
    const std::string name(row.name);
    const Result<CommandLine> line = Read({name.c_str(), "--help"});
    ASSERT_TRUE(line) << line.failure().text;
    EXPECT_THAT(line->text_to_show, HasSubstr(std::string(row.summary)));
    EXPECT_THAT(line->text_to_show, HasSubstr("fairlockctl " + name));
  }
}

TEST(CommandLine, HelpOfACommandIsItsOwnOption) {
  const auto text = [](std::initializer_list<const char*> words) {
    return Read(words)->text_to_show;
  };
  EXPECT_EQ(text({"help", "lock"}), text({"lock", "--help"}));
  EXPECT_EQ(text({"-p", "1", "help", "limit", "set"}), text({"limit", "set", "--help"}));
  EXPECT_EQ(text({"help"}), text({"--help"}));
  EXPECT_THAT(WrongIn({"help", "lcok"}), HasSubstr("did you mean `lock`?"));
}

TEST(CommandLine, EveryCommandCanAnswerPrograms) {
  const std::set<std::string> without = {"top", "completion", "help"};
  const std::vector<CommandModel> commands = Read({"status"})->model.commands;
  for (const CommandModel& command : commands) {
    std::vector<CommandModel> leaves = command.commands;
    if (leaves.empty()) leaves.push_back(command);
    for (const CommandModel& leaf : leaves) {
      const bool has_json = std::ranges::any_of(leaf.options, [](const OptionModel& option) {
        return std::ranges::find(option.names, "--json") != option.names.end();
      });
      EXPECT_EQ(has_json, !without.contains(leaf.name)) << leaf.name;
    }
  }
}

TEST(CommandLine, NamesOfCommandsAreDifferent) {
  std::set<std::string_view> names;
  for (const CommandRow& row : AllCommands())
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(CommandLine, HelpListsTheCommandsAndVersionIsShown) {
  const std::string help = Read({"--help"})->text_to_show;
  for (const CommandRow& row : AllCommands()) {
    if (row.name.find(' ') == std::string_view::npos) {
      EXPECT_THAT(help, HasSubstr(std::string(row.name)));
    }
  }
  EXPECT_THAT(Read({"--version"})->text_to_show, HasSubstr("fairlockctl 0."));
}

TEST(CommandLine, UnknownCommandIsNamedWithItsNearest) {
  EXPECT_EQ(
      WrongIn({"lcks"}),
      "'lcks' is not a command; did you mean `locks`? `fairlockctl --help` lists the commands");
  EXPECT_THAT(WrongIn({"locsk"}), HasSubstr("did you mean `locks`?"));
  EXPECT_THAT(WrongIn({"lokc"}), HasSubstr("did you mean `lock`?"));
  EXPECT_THAT(WrongIn({"stauts"}), HasSubstr("did you mean `status`?"));
  EXPECT_THAT(WrongIn({"acquire"}), HasSubstr("did you mean `lock`?"));
  EXPECT_THAT(WrongIn({"limit", "lsit"}), HasSubstr("did you mean `list`?"));
  EXPECT_THAT(WrongIn({"lock", "k", "o", "--wiat", "1s"}), HasSubstr("did you mean `--wait`?"));
  EXPECT_EQ(WrongIn({"-p", "1", "zzzzzzzz"}),
            "'zzzzzzzz' is not a command; `fairlockctl --help` lists the commands");
  EXPECT_EQ(WrongIn({}), "COMMAND is required; `fairlockctl --help` lists the commands");
}

TEST(CommandLine, WrongValueIsNamedWithWhatWouldBeRight) {
  EXPECT_THAT(WrongIn({"locks", "--held", "3x"}),
              HasSubstr("--held must be a duration such as 500ms, 30s, 1h30m or 2d, got '3x'"));
  EXPECT_THAT(WrongIn({"run", "k", "--wait", "30", "--", "true"}),
              HasSubstr("--wait must have a unit, such as 30s or 30ms, got '30'"));
  EXPECT_THAT(WrongIn({"locks", "--count", "0"}), HasSubstr("a number from 1 to 100000"));
  EXPECT_THAT(WrongIn({"locks", "--sort", "age"}), HasSubstr("one of wait|held|waiters"));
  EXPECT_THAT(WrongIn({"show"}), HasSubstr("KEY is required; `fairlockctl show --help`"));
  EXPECT_THAT(WrongIn({"show", "k", "--colour"}), HasSubstr("--colour"));
}

TEST(CommandLine, WordThatIsNotUnderstoodIsNamedBeforeWhatIsMissing) {
  EXPECT_THAT(WrongIn({"--nosuch"}), HasSubstr("'--nosuch' is not an option; "));
  EXPECT_THAT(WrongIn({"-p", "1", "-y"}), HasSubstr("'-y' is not an option; "));
  EXPECT_THAT(WrongIn({"wait", "-k", "o"}), HasSubstr("'-k' is not an option; "));
  EXPECT_THAT(WrongIn({"show", "-x"}), HasSubstr("'-x' is not an option; "));
  EXPECT_THAT(WrongIn({"limit", "foo"}),
              HasSubstr("'foo' is not a command of `fairlockctl limit`"));
  EXPECT_THAT(WrongIn({"config", "foo"}), HasSubstr("'foo' is not a command of"));
  EXPECT_THAT(WrongIn({"limit"}), HasSubstr("`fairlockctl limit --help`"));
}

TEST(CommandLine, KeyThatBeginsWithADashStandsBehindTwo) {
  EXPECT_TRUE(Read({"show", "--", "-k"}));
  EXPECT_FALSE(Read({"show", "-k"}));
}

// tests/integration/ctl_literal_test.py does the same for the arguments of all commands.
TEST(CommandLine, EverySettingIsTakenLiterally) {
  for (const SettingRow& row : AllSettings()) {
    if (row.is_switch) continue;
    const std::string name = FlagName(row);
    for (const std::string text : {"", "[a,b]", "[]", "{}", "%%", "++", "--", "-p", "--help", "=",
                                   "a=b", "'a'", "status", "\xff"}) {
      const std::string joined = name + "=" + text;
      for (const Result<CommandLine>& line :
           {Read({name.c_str(), text.c_str(), "ping"}), Read({joined.c_str(), "ping"}),
            Read({"ping", name.c_str(), text.c_str()})}) {
        ASSERT_TRUE(line) << joined << ": " << line.failure().text;
        EXPECT_EQ(line->flags(row)->value, text) << joined;
      }
    }
  }
}

TEST(CommandLine, WordsAfterTwoDashesAreNeverOptions) {
  EXPECT_THAT(WrongIn({"show", "k", "--", "-d5"}), HasSubstr("'-d5' is an unexpected argument"));
  EXPECT_EQ(SettingsIn({"lock", "k", "--", "-d5"}).database, std::nullopt);
  EXPECT_EQ(SettingsIn({"lock", "--", "k", "--db", "5"}).database, std::nullopt);
}

TEST(CommandLine, TwoDashesAsAValueDoNotEndTheOptions) {
  EXPECT_THAT(Read({"run", "-o", "--", "k", "--", "true", "--"})->after_dashes,
              ElementsAre("true", "--"));
  EXPECT_EQ(SettingsIn({"lock", "k", "-o", "--", "-d", "5"}).database, 5);
}

TEST(CommandLine, ModelTellsCommandsOptionsAndChoices) {
  const Result<CommandLine> line = Read({"status"});
  ASSERT_TRUE(line);
  const auto& commands = line->model.commands;
  const auto locks = std::ranges::find(commands, "locks", &CommandModel::name);
  ASSERT_NE(locks, commands.end());
  const auto sort = std::ranges::find_if(locks->options, [](const OptionModel& option) {
    return !option.names.empty() && option.names.front() == "--sort";
  });
  ASSERT_NE(sort, locks->options.end());
  EXPECT_THAT(sort->names, ElementsAre("--sort", "-s"));
  EXPECT_THAT(sort->choices, ElementsAre("wait", "held", "waiters", "holders", "key", "none"));
}

}  // namespace
}  // namespace fairlock::cli
