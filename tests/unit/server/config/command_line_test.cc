#include "server/config/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "server/config/config_options.h"

namespace fairlock::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CommandLine Read(std::initializer_list<const char*> arguments) {
  return ReadCommandLine(std::vector<const char*>(arguments));
}

TEST(CommandLine, WithoutArgumentsEverythingIsAtItsDefault) {
  const CommandLine line = Read({});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.action, Action::kRun);
  EXPECT_EQ(line.config_file, "");
  for (const Option& option : AllOptions()) {
    EXPECT_EQ(ShowOption(option, line.config), option.default_value);
  }
}

TEST(CommandLine, ValueStandsBehindABlankOrAnEqualsSign) {
  const CommandLine line = Read({"--port", "4000", "--max-clients=5", "--default-lease", "1m"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.config.port, 4000);
  EXPECT_EQ(line.config.max_clients, 5);
  EXPECT_EQ(line.config.default_lease, 60'000);
}

TEST(CommandLine, LastValueCountsButListsAreJoined) {
  const CommandLine line = Read({"--port", "1", "--port", "2", "--bind", "127.0.0.1", "--bind",
                                 "-::1,127.0.0.2", "--bind=*"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.config.port, 2);
  EXPECT_THAT(line.config.bind, ElementsAre("127.0.0.1", "-::1", "127.0.0.2", "*"));
}

TEST(CommandLine, ActionsAreRecognised) {
  EXPECT_EQ(Read({"--check-config"}).action, Action::kCheckConfig);
  EXPECT_EQ(Read({"--print-config"}).action, Action::kPrintConfig);
  EXPECT_EQ(Read({"--version"}).action, Action::kShowVersion);
  EXPECT_EQ(Read({"-h"}).action, Action::kShowHelp);
  EXPECT_EQ(Read({"--help", "--config", "/no/such/file"}).error, "");
}

TEST(CommandLine, EmptyValuesAreRefusedWhereTheyWouldChooseAnotherAction) {
  for (const char* const name :
       {"--restore", "--import", "--create-fleet", "--copy-from", "--copy-from-etcd", "--config"}) {
    const std::string joined = std::string(name) + "=";
    EXPECT_THAT(Read({name, ""}).error, HasSubstr("the value must not be empty")) << name;
    EXPECT_THAT(Read({joined.c_str(), "x"}).error, HasSubstr("the value must not be empty"));
  }
}

constexpr auto kOddTexts = std::to_array<const char*>(
    {"", "[a]", "[a,b]", "{}", "%%", "++", "--", "-h", "--port", "=", "a=b", "'a'", "a b", "\xff"});

TEST(CommandLine, EveryValueIsTakenLiterally) {
  for (const Option& option : AllOptions()) {
    const std::string name = CommandLineName(option.name);
    for (const std::string text : kOddTexts) {
      Config expected = DefaultConfig();
      const std::string right = SetOption(option, IsList(option) ? text + "," : text, expected);
      const std::string joined = name + "=" + text;
      for (const CommandLine& line :
           {Read({name.c_str(), text.c_str()}), Read({joined.c_str()}),
            Read({joined.c_str(), "--init"}), Read({name.c_str(), text.c_str(), "--init"})}) {
        if (right.empty()) {
          EXPECT_EQ(line.error, "") << joined;
          EXPECT_EQ(ShowOption(option, line.config), ShowOption(option, expected)) << joined;
        } else {
          EXPECT_THAT(line.error, HasSubstr(name + " must be " + right + ", got '")) << joined;
        }
      }
    }
  }
}

TEST(CommandLine, EveryPathAndNameOfAnActionIsTakenLiterally) {
  for (const std::string text : kOddTexts) {
    if (text.empty()) continue;
    EXPECT_EQ(Read({"--restore", text.c_str()}).backup, text);
    EXPECT_EQ(Read({("--import=" + text).c_str()}).imported, text);
    const CommandLine copy = Read(
        {"--create-fleet", "2", ("--copy-from=" + text).c_str(), "--copy-from-etcd", text.c_str()});
    EXPECT_EQ(copy.copied_fleet, text);
    EXPECT_EQ(copy.copied_etcd, text);
  }
}

TEST(CommandLine, ACopyNeedsTheOldFleetAndTheNewNumberOfPartitions) {
  const CommandLine line =
      Read({"--create-fleet", "2", "--copy-from", "old", "--copy-from-etcd", "etcd:2379"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.action, Action::kCreateFleet);
  EXPECT_EQ(line.copied_fleet, "old");
  EXPECT_EQ(line.copied_etcd, "etcd:2379");
  EXPECT_THAT(Read({"--copy-from", "old"}).error, HasSubstr("--copy-from needs --create-fleet N"));
  EXPECT_THAT(Read({"--create-fleet", "2", "--copy-from-etcd", "etcd:2379"}).error,
              HasSubstr("--copy-from-etcd needs --copy-from FLEET"));
  EXPECT_THAT(Read({"--config", "/no/such/file", "--copy-from", "old"}).error,
              HasSubstr("/no/such/file"));
}

TEST(CommandLine, SaysWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_EQ(Read({"--port", "high"}).error,
            "command line: --port must be a number from 0 to 65535, got 'high'");
  EXPECT_EQ(Read({"--port"}).error,
            "command line: --port must be a number from 0 to 65535, got no value");
  EXPECT_EQ(Read({"--max-clients", "-5"}).error,
            "command line: --max-clients must be a number from 1 to 1000000, got '-5'");
  EXPECT_EQ(Read({"--max-client=5"}).error,
            "command line: '--max-client=5' is not an option; did you mean --max-clients? "
            "`fairlockd --help` lists all options");
  EXPECT_EQ(Read({"--maxclients", "5"}).error,
            "command line: '--maxclients' is not an option; did you mean --max-clients? "
            "`fairlockd --help` lists all options");
  EXPECT_THAT(Read({"fairlock.yaml"}).error, HasSubstr("'fairlock.yaml' belongs to no option"));
  EXPECT_THAT(Read({"--config"}).error, HasSubstr("use --config FILE"));
  EXPECT_THAT(Read({"--config", "/no/such/file"}).error,
              HasSubstr("/no/such/file: must be a readable file: No such file"));
  EXPECT_THAT(Read({"-x"}).error, HasSubstr("'-x' is not an option"));
  EXPECT_THAT(Read({"--check-config=maybe"}).error, HasSubstr("--check-config"));
}

TEST(CommandLine, NamesAreNotAbbreviatedAndKeepTheirCase) {
  EXPECT_THAT(Read({"--por", "1"}).error,
              HasSubstr("'--por' is not an option; did you mean --port?"));
  EXPECT_THAT(Read({"--PORT", "1"}).error, HasSubstr("'--PORT' is not an option"));
}

}  // namespace
}  // namespace fairlock::server
