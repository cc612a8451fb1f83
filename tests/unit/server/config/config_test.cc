#include "server/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "server/config/config_file.h"
#include "server/config/config_options.h"
#include "server/config/config_text.h"
#include "server/config/config_values.h"
#include "server/logging/logging.h"
#include "server/net/tls/tls_context.h"
#include "server/persist/state_log.h"

namespace fairlock::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

TEST(ConfigValues, DurationsHaveAUnit) {
  EXPECT_THAT(ParseDurationMs("500ms"), Optional(500));
  EXPECT_THAT(ParseDurationMs("30s"), Optional(30'000));
  EXPECT_THAT(ParseDurationMs("5m"), Optional(300'000));
  EXPECT_THAT(ParseDurationMs("2H"), Optional(7'200'000));
  EXPECT_THAT(ParseDurationMs("365d"), Optional(31'536'000'000));
  EXPECT_THAT(ParseDurationMs("0"), Optional(0));
  for (const char* wrong : {"", "30", "s", "-1s", "1.5s", "1 s", "1w", "99999999999999999d"}) {
    EXPECT_EQ(ParseDurationMs(wrong), std::nullopt) << wrong;
  }
}

TEST(ConfigValues, SizesNeedNone) {
  EXPECT_THAT(ParseBytes("100"), Optional(100));
  EXPECT_THAT(ParseBytes("100b"), Optional(100));
  EXPECT_THAT(ParseBytes("64kb"), Optional(65'536));
  EXPECT_THAT(ParseBytes("16MB"), Optional(16'777'216));
  EXPECT_THAT(ParseBytes("2gb"), Optional(2'147'483'648));
  for (const char* wrong : {"", "kb", "1tb", "-1", "0x10", "9999999999999gb"}) {
    EXPECT_EQ(ParseBytes(wrong), std::nullopt) << wrong;
  }
}

TEST(ConfigValues, AreShownInTheLargestUnitThatLeavesAWholeNumber) {
  EXPECT_EQ(FormatDurationMs(0), "0");
  EXPECT_EQ(FormatDurationMs(1500), "1500ms");
  EXPECT_EQ(FormatDurationMs(90'000), "90s");
  EXPECT_EQ(FormatDurationMs(7'200'000), "2h");
  EXPECT_EQ(FormatBytes(1000), "1000b");
  EXPECT_EQ(FormatBytes(3 * 1024 * 1024), "3mb");
  EXPECT_EQ(FormatPermissions(0), "0000");
  EXPECT_EQ(FormatPermissions(0640), "0640");
}

TEST(ConfigValues, PermissionsAreOctal) {
  EXPECT_THAT(ParsePermissions("0770"), Optional(0770));
  EXPECT_THAT(ParsePermissions("640"), Optional(0640));
  EXPECT_EQ(ParsePermissions("0o770"), std::nullopt);
  EXPECT_EQ(ParsePermissions("780"), std::nullopt);
}

TEST(ConfigValues, ListsAreSplitAtCommasAndBlanks) {
  EXPECT_THAT(SplitList("127.0.0.1,::1"), ElementsAre("127.0.0.1", "::1"));
  EXPECT_THAT(SplitList("  a ,, b  c,"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(SplitList(" , "), IsEmpty());
}

TEST(ConfigOptions, NamesAreUniqueAndEveryRowIsComplete) {
  std::set<std::string_view> names;
  for (const Option& option : AllOptions()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    if (!option.redis_name.empty() && option.redis_name != option.name) {
      EXPECT_TRUE(names.insert(option.redis_name).second) << option.redis_name;
    }
    EXPECT_THAT(option.comment, testing::EndsWith(".")) << option.name;
    EXPECT_EQ(FindOption(option.name), &option);
  }
}

TEST(ConfigOptions, DefaultsReadBackAsTheyAreShown) {
  const Config defaults = DefaultConfig();
  for (const Option& option : AllOptions()) {
    EXPECT_EQ(ShowOption(option, defaults), option.default_value) << option.name;
    Config config = defaults;
    if (ShowOption(option, defaults).empty()) continue;
    EXPECT_EQ(SetOption(option, ShowOption(option, defaults), config), "") << option.name;
    EXPECT_EQ(ShowOption(option, config), ShowOption(option, defaults));
  }
}

TEST(ConfigOptions, NumbersOutsideOfTheirBoundsAreWrong) {
  Config config = DefaultConfig();
  for (const Option& option : AllOptions()) {
    if (!std::holds_alternative<std::int64_t Config::*>(option.member)) continue;
    if (option.type == OptionType::kKeyEvents) continue;
    EXPECT_EQ(SetOption(option, "-1", config), DescribeValues(option)) << option.name;
    EXPECT_EQ(SetOption(option, "99999999999999999999", config), DescribeValues(option));
    EXPECT_EQ(SetOption(option, "", config), DescribeValues(option)) << option.name;
    EXPECT_EQ(ShowOption(option, config), option.default_value);
  }
  const Option& clients = *FindOption("max_clients");
  EXPECT_EQ(SetOption(clients, "0", config), "a number from 1 to 1000000");
  EXPECT_EQ(SetOption(clients, "1000001", config), "a number from 1 to 1000000");
  EXPECT_EQ(SetOption(clients, "1000000", config), "");
  const Option& keepalive = *FindOption("tcp_keepalive");
  EXPECT_THAT(SetOption(keepalive, "1500ms", config), HasSubstr("whole seconds"));
}

TEST(ConfigOptions, ChoiceIsOneOfItsWords) {
  Config config = DefaultConfig();
  const Option& level = *FindOption("log_level");
  EXPECT_EQ(SetOption(level, "debug", config), "");
  EXPECT_EQ(SetOption(level, "verbose", config), "one of debug, info, warning, error");
  EXPECT_EQ(config.log_level, LogLevel::kDebug);
  for (const Option& option : AllOptions()) {
    for (const std::string_view choice : option.choices) {
      EXPECT_EQ(SetOption(option, choice, config), "") << option.name;
      EXPECT_EQ(ShowOption(option, config), choice) << option.name;
    }
  }
}

TEST(ConfigOptions, WordsHaveTheValuesOfTheirTypes) {
  Config config = DefaultConfig();
  const auto set = [&config](const char* name, const char* word) {
    EXPECT_EQ(SetOption(*FindOption(name), word, config), "");
  };
  EXPECT_EQ(config.durability, persist::Durability::kAsync);
  EXPECT_EQ(config.tls_auth_clients, net::ClientCertificates::kNotAsked);
  EXPECT_EQ(config.cluster_dialect, ClusterDialect::kAuto);
  EXPECT_EQ(config.log_level, LogLevel::kInfo);
  EXPECT_TRUE(config.cluster_relay);
  EXPECT_FALSE(config.http_tls);
  set("durability", "sync");
  set("tls_auth_clients", "required");
  set("tls_auth_clients_user", "cn");
  set("cluster_dialect", "cluster");
  set("log_level", "error");
  set("cluster_relay", "no");
  set("http_tls", "yes");
  EXPECT_EQ(config.durability, persist::Durability::kSync);
  EXPECT_EQ(config.tls_auth_clients, net::ClientCertificates::kRequired);
  EXPECT_TRUE(config.tls_auth_clients_user);
  EXPECT_EQ(config.cluster_dialect, ClusterDialect::kCluster);
  EXPECT_EQ(config.log_level, LogLevel::kError);
  EXPECT_FALSE(config.cluster_relay);
  EXPECT_TRUE(config.http_tls);
}

TEST(ConfigOptions, LabelsAreRulesOfAGlobAndALabel) {
  Config config = DefaultConfig();
  const Option& labels = *FindOption("labels");
  EXPECT_EQ(SetOption(labels, "order:*=orders, a=b=mail", config), "");
  EXPECT_EQ(ShowOption(labels, config), "order:*=orders, a=b=mail");
  EXPECT_EQ(ParseLabelRule("a=b=mail")->pattern, "a=b");
  EXPECT_EQ(ParseLabelRule("a=b=mail")->label, "mail");
  for (const char* wrong : {"order:*", "=orders", "order:*=", "order:*=a/b"}) {
    EXPECT_EQ(SetOption(labels, wrong, config), DescribeValues(labels)) << wrong;
  }
  EXPECT_EQ(SetOption(labels, std::string(1024, 'x') + "=mail", config), "");
  EXPECT_THAT(SetOption(labels, std::string(1025, 'x') + "=mail", config),
              HasSubstr("a glob of 1 to 1024 bytes"));
  EXPECT_EQ(SetOption(labels, "", config), "");
  EXPECT_EQ(ShowOption(labels, config), "");
}

TEST(ConfigOptions, TakesHowLongPlacesOfValuesOutliveThem) {
  Config config = DefaultConfig();
  const Option& keep = *FindOption("compat.keep_place");
  EXPECT_EQ(ShowOption(keep, config), "0");
  EXPECT_EQ(SetOption(keep, "cron:*=0, mail:a=b=2s, 500ms", config), "");
  EXPECT_EQ(ShowOption(keep, config), "cron:*=0, mail:a=b=2s, 500ms");
  EXPECT_EQ(ParseKeepRule("mail:a=b=2s")->pattern, "mail:a=b");
  EXPECT_EQ(ParseKeepRule("mail:a=b=2s")->keep_ms, 2000);
  EXPECT_EQ(ParseKeepRule("500ms")->pattern, "*");
  for (const std::string_view wrong : {"", "=1s", "job:*", "job:*=1", "job:*=-1s", "job:*=25h"}) {
    EXPECT_EQ(SetOption(keep, wrong, config), DescribeValues(keep)) << wrong;
  }
  EXPECT_EQ(ShowOption(keep, config), "cron:*=0, mail:a=b=2s, 500ms");
}

TEST(ConfigOptions, KeyEventsAreLettersInAnyOrder) {
  Config config = DefaultConfig();
  const Option& events = *FindOption("notify_keyspace_events");
  EXPECT_EQ(SetOption(events, "xE$K", config), "");
  EXPECT_EQ(ShowOption(events, config), "$xKE");
  EXPECT_EQ(SetOption(events, "KEy", config), "letters of Ag$lshzxeKEtmdn");
  EXPECT_EQ(ShowOption(events, config), "$xKE");
  EXPECT_EQ(SetOption(events, "", config), "");
  EXPECT_EQ(ShowOption(events, config), "");
}

TEST(ConfigOptions, KnowsWhichNameWasProbablyMeant) {
  EXPECT_EQ(NearestOptionName("max_client"), "max_clients");
  EXPECT_EQ(NearestOptionName("prot"), "port");
  EXPECT_EQ(NearestOptionName("maxclients"), "max_clients");
  EXPECT_EQ(NearestOptionName("unixsocketperm"), "unix_socket_permissions");
  EXPECT_EQ(NearestOptionName("completely_different"), "");
}

TEST(ConfigOptions, RedisSeesItsOwnUnits) {
  const Config config = DefaultConfig();
  EXPECT_EQ(ShowOptionAsRedis(*FindOption("tcp_keepalive"), config), "300");
  EXPECT_EQ(ShowOptionAsRedis(*FindOption("argument_limit"), config), "524288");
  EXPECT_EQ(ShowOptionAsRedis(*FindOption("unix_socket_permissions"), config), "700");
  EXPECT_EQ(ShowOptionAsRedis(*FindOption("bind"), config), "127.0.0.1 -::1");
}

std::string Read(const std::string& text, Config& config) {
  return ReadConfigText(text, "f.yaml", config);
}

TEST(ConfigFile, SetsWhatItSaysAndLeavesTheRest) {
  Config config = DefaultConfig();
  EXPECT_EQ(Read("# a comment\nport: 4000\nbind: [0.0.0.0, \"::\"]\nunix_socket: /run/f.sock\n"
                 "unix_socket_permissions: 0660\ndefault_lease: 5s\n",
                 config),
            "");
  EXPECT_EQ(config.port, 4000);
  EXPECT_THAT(config.bind, ElementsAre("0.0.0.0", "::"));
  EXPECT_EQ(config.unix_socket, "/run/f.sock");
  EXPECT_EQ(config.unix_socket_permissions, 0660);
  EXPECT_EQ(config.default_lease, 5000);
  EXPECT_EQ(config.max_clients, DefaultConfig().max_clients);
}

TEST(ConfigFile, MayBeEmpty) {
  Config config = DefaultConfig();
  EXPECT_EQ(Read("", config), "");
  EXPECT_EQ(Read("# nothing\n", config), "");
}

TEST(ConfigFile, SaysWhereAValueIsWrongAndWhatWouldBeRight) {
  Config config = DefaultConfig();
  EXPECT_EQ(Read("port: 1\n\nmax_clients: lots\n", config),
            "f.yaml:3: max_clients must be a number from 1 to 1000000, got 'lots'");
  EXPECT_EQ(Read("max_clients: [1, 2]\n", config),
            "f.yaml:1: max_clients must be a number from 1 to 1000000, got '1, 2'");
  EXPECT_EQ(Read("max_clients:\n  a: b\n", config),
            "f.yaml:1: max_clients must be a number from 1 to 1000000, got 'a map'");
  EXPECT_EQ(Read("port:\n", config),
            "f.yaml:1: port has no value (text after \" #\" is a comment); it must be a number "
            "from 0 to 65535");
}

TEST(ConfigFile, AKeyWithoutAValueIsNoEmptyText) {
  Config config = DefaultConfig();
  config.requirepass = "before";
  for (const char* line : {"requirepass:", "requirepass: #secret", "requirepass: ~",
                           "requirepass: null", "requirepass:\nport: 1"}) {
    EXPECT_EQ(Read(line, config),
              "f.yaml:1: requirepass has no value (text after \" #\" is a comment); it must be a "
              "text, \"\" for none")
        << line;
  }
  for (const char* name : {"acl_file", "labels", "bind", "notify_keyspace_events", "log_level"}) {
    EXPECT_THAT(Read(std::string(name) + ":", config), HasSubstr("has no value")) << name;
  }
  EXPECT_EQ(config.requirepass, "before");
  EXPECT_EQ(Read("requirepass: \"\"", config), "");
  EXPECT_EQ(config.requirepass, "");
  EXPECT_EQ(Read("requirepass: 'null'", config), "");
  EXPECT_EQ(config.requirepass, "null");
}

TEST(ConfigFile, ASecondDocumentIsNotLeftOut) {
  Config config = DefaultConfig();
  EXPECT_THAT(Read("port: 1\n---\nrequirepass: secret\n", config),
              HasSubstr("f.yaml:2: a second YAML document"));
  EXPECT_THAT(Read("---\n---\nrequirepass: secret\n", config), HasSubstr("a second YAML document"));
  // In these texts, the YAML library by itself would find documents without end.
  EXPECT_NE(Read("&a,|\n  b\npy", config), "");
  EXPECT_EQ(Read("# one\n---\nport: 1\n...\n", config), "");
}

TEST(ConfigFile, SaysWhichOptionIsUnknown) {
  Config config = DefaultConfig();
  EXPECT_EQ(Read("port: 1\nmaxclients: 5\n", config),
            "f.yaml:2: unknown option 'maxclients' (value '5'); did you mean max_clients? "
            "`fairlockd --help` lists all options");
  EXPECT_THAT(Read("zzz: [1]\n", config),
              HasSubstr("f.yaml:1: unknown option 'zzz' (value '1'); "));
}

TEST(ConfigFile, RefusesASecondValueAndWhatIsNotAMap) {
  Config config = DefaultConfig();
  EXPECT_THAT(Read("port: 1\nport: 2\n", config),
              HasSubstr("f.yaml:2: port is given a second time"));
  EXPECT_THAT(Read("just words\n", config), HasSubstr("f.yaml:1: must contain lines of the form"));
  EXPECT_THAT(Read("- a\n- b\n", config), HasSubstr("f.yaml:1: must contain lines of the form"));
  EXPECT_THAT(Read("port: 1\n  bad: [\n", config), HasSubstr("not YAML: "));
  EXPECT_THAT(Read("? [a, b]\n: c\n", config), HasSubstr("must be the name of an option"));
}

TEST(ConfigFile, BytesThatAreNoTextAreShownByTheirNumbers) {
  Config config = DefaultConfig();
  EXPECT_THAT(Read(std::string("port\0\0: 1\n!!x ", 14), config), HasSubstr("character: \\x00"));
}

TEST(ConfigFile, ThatCannotBeReadIsNamed) {
  Config config = DefaultConfig();
  EXPECT_THAT(ReadConfigFile("/no/such/file.yaml", config),
              HasSubstr("/no/such/file.yaml: must be a readable file: No such file or directory"));
  EXPECT_THAT(ReadConfigFile("/", config), HasSubstr("/: "));
}

TEST(ConfigText, ReadsBackAsTheSameConfiguration) {
  Config config = DefaultConfig();
  config.unix_socket = "/tmp/a \"quoted\" \\ path: #1";
  config.bind = {"0.0.0.0", "-::"};
  config.max_clients = 77;
  config.tls_cert_file = "a \"folder\"\\ of\n\n two\tlines";
  Config read = DefaultConfig();
  ASSERT_EQ(Read(ConfigFileText(config), read), "");
  EXPECT_EQ(read.tls_cert_file, config.tls_cert_file);
  for (const Option& option : AllOptions()) {
    EXPECT_EQ(ShowOption(option, read), ShowOption(option, config)) << option.name;
  }
}

TEST(ConfigText, HelpAndFileNameEveryOptionInShortLines) {
  for (const std::string& text : {HelpText(), ConfigFileText(DefaultConfig())}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
  for (const Option& option : AllOptions()) {
    EXPECT_THAT(HelpText(), HasSubstr("  " + CommandLineName(option.name) + " "));
    EXPECT_THAT(ConfigFileText(DefaultConfig()), HasSubstr("\n" + std::string(option.name) + ": "));
  }
}

}  // namespace
}  // namespace fairlock::server
