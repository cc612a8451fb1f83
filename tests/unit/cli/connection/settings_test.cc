#include "cli/connection/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "cli/connection/settings_file.h"

namespace fairlock::cli {
namespace {

using testing::HasSubstr;

SettingSource Environment(std::map<std::string, std::string> variables) {
  return EnvironmentSource([variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

SettingSource File(const std::string& text) {
  Result<SettingSource> source = ReadSettingsText(text, "ctl.yaml");
  EXPECT_TRUE(source) << source.failure().text;
  return *source;
}

Settings Merged(const std::vector<SettingSource>& sources) {
  Result<Settings> settings = MergeSettings(sources);
  EXPECT_TRUE(settings) << settings.failure().text;
  return *settings;
}

std::string WrongIn(const SettingSource& source) {
  const Result<Settings> settings = MergeSettings(std::vector{source});
  EXPECT_FALSE(settings);
  return settings.failure().text;
}

std::string WrongFile(const std::string& text) {
  const Result<SettingSource> source = ReadSettingsText(text, "ctl.yaml");
  EXPECT_FALSE(source);
  EXPECT_EQ(source.failure().exit_code, kExitWrongUse);
  return source.failure().text;
}

TEST(Settings, WithoutSourcesAreTheDefaults) {
  const Settings settings = Merged({});
  EXPECT_EQ(settings.host, "127.0.0.1");
  EXPECT_EQ(settings.port, 3247);
  EXPECT_EQ(settings.socket, "");
  EXPECT_EQ(settings.database, std::nullopt);
  EXPECT_EQ(settings.database_or_first(), 0);
  EXPECT_EQ(settings.timeout_ms, 5000);
}

TEST(Settings, LaterSourceGoesBeforeAnEarlierOneSettingBySetting) {
  const SettingSource file = File("host: file.example\nport: 1\nuser: file\ndb: 3\n");
  const SettingSource environment =
      Environment({{"FAIRLOCK_HOST", "env.example"}, {"FAIRLOCK_PORT", "2"}});
  const SettingSource flags = Environment({{"FAIRLOCK_PORT", "3"}});
  const Settings settings = Merged({file, environment, flags});
  EXPECT_EQ(settings.host, "env.example");
  EXPECT_EQ(settings.port, 3);
  EXPECT_EQ(settings.user, "file");
  EXPECT_EQ(settings.database, 3);
}

TEST(Settings, EveryRowHasItsVariableAndFlag) {
  const Settings settings = Merged({Environment({{"FAIRLOCK_HOST", "h"},
                                                 {"FAIRLOCK_PORT", "1"},
                                                 {"FAIRLOCK_USER", "u"},
                                                 {"FAIRLOCK_PASSWORD_FILE", "/p"},
                                                 {"FAIRLOCK_DB", "15"},
                                                 {"FAIRLOCK_TLS", "yes"},
                                                 {"FAIRLOCK_TLS_CA_FILE", "/ca"},
                                                 {"FAIRLOCK_TLS_CERT_FILE", "/cert"},
                                                 {"FAIRLOCK_TLS_KEY_FILE", "/key"},
                                                 {"FAIRLOCK_TLS_SERVER_NAME", "n"},
                                                 {"FAIRLOCK_TLS_INSECURE", "yes"},
                                                 {"FAIRLOCK_TIMEOUT", "1m"},
                                                 {"FAIRLOCK_SOCKET", "/s"}})});
  EXPECT_EQ(settings.host, "h");
  EXPECT_EQ(settings.port, 1);
  EXPECT_EQ(settings.user, "u");
  EXPECT_EQ(settings.password_file, "/p");
  EXPECT_EQ(settings.database, 15);
  EXPECT_EQ(settings.timeout_ms, 60'000);
  EXPECT_EQ(settings.socket, "/s");
  EXPECT_TRUE(settings.is_tls);
  EXPECT_EQ(settings.tls_ca_file, "/ca");
  EXPECT_EQ(settings.tls_cert_file, "/cert");
  EXPECT_EQ(settings.tls_key_file, "/key");
  EXPECT_EQ(settings.tls_server_name, "n");
  EXPECT_TRUE(settings.tls_insecure);
  std::vector<std::string> flags;
  for (const SettingRow& row : AllSettings()) flags.push_back(FlagName(row));
  EXPECT_THAT(flags,
              testing::ElementsAre("--host", "--port", "--socket", "--user", "--password-file",
                                   "--db", "--tls-ca-file", "--tls-cert-file", "--tls-key-file",
                                   "--tls-server-name", "--tls-insecure", "--tls", "--timeout"));
}

TEST(Settings, HostMayListSeveralServers) {
  EXPECT_EQ(Merged({File("host: a,b:3248,[::1]:3249\n")}).host, "a,b:3248,[::1]:3249");
  EXPECT_THAT(WrongIn(Environment({{"FAIRLOCK_HOST", "a,,b"}})),
              HasSubstr("FAIRLOCK_HOST must be a name or an address"));
  EXPECT_THAT(WrongIn(File("host: a:port\n")), HasSubstr("got 'a:port'"));
}

TEST(Settings, WhoSaysHowTlsIsSpokenSpeaksIt) {
  EXPECT_FALSE(Merged({}).is_tls);
  EXPECT_TRUE(Merged({File("tls_ca_file: /ca\n")}).is_tls);
  EXPECT_TRUE(Merged({File("tls_insecure: yes\n")}).is_tls);
  EXPECT_FALSE(Merged({File("tls_insecure: no\n")}).is_tls);
  EXPECT_FALSE(Merged({File("tls: no\ntls_ca_file: /ca\n")}).is_tls);
  EXPECT_FALSE(Merged({File("tls_ca_file: /ca\n"), Environment({{"FAIRLOCK_TLS", "no"}})}).is_tls);
  EXPECT_THAT(WrongIn(File("tls: maybe\n")), HasSubstr("tls must be yes or no, got 'maybe'"));
}

TEST(Settings, HostOfALaterSourceGoesBeforeTheSocketOfAnEarlierOne) {
  const SettingSource file = File("socket: /run/fairlock.sock\n");
  EXPECT_EQ(Merged({file}).socket, "/run/fairlock.sock");
  EXPECT_EQ(Merged({file, Environment({{"FAIRLOCK_HOST", "h"}})}).socket, "");
  EXPECT_EQ(Merged({file, Environment({{"FAIRLOCK_PORT", "1"}})}).socket, "");
  EXPECT_EQ(Merged({File("socket: /a\nhost: h\n")}).socket, "/a");
}

TEST(Settings, EmptyVariableSaysNothing) {
  EXPECT_EQ(Merged({Environment({{"FAIRLOCK_HOST", ""}})}).host, "127.0.0.1");
}

TEST(Settings, WrongValueIsNamedWithItsPlaceAndWhatWouldBeRight) {
  EXPECT_EQ(WrongIn(Environment({{"FAIRLOCK_PORT", "32x"}})),
            "FAIRLOCK_PORT must be a number from 1 to 65535, got '32x'");
  EXPECT_THAT(WrongIn(File("# where\ndb: 16\n")),
              HasSubstr("ctl.yaml:2: db must be a number from 0 to 15, got '16'"));
  EXPECT_THAT(WrongIn(File("timeout: 5")), HasSubstr("a duration such as"));
  EXPECT_THAT(WrongIn(File("timeout: 0")), HasSubstr("a duration such as"));
  EXPECT_THAT(WrongIn(File("port: 0")), HasSubstr("a number from 1 to 65535"));
}

TEST(SettingsFile, IsYamlWithKnownNames) {
  EXPECT_THAT(WrongFile("hots: a\n"),
              HasSubstr("ctl.yaml:1: 'hots' is not a setting; the settings are "
                        "host, port, socket"));
  EXPECT_THAT(WrongFile("- host\n"), HasSubstr("must contain lines of the form"));
  EXPECT_THAT(WrongFile("host: [a, b]\n"), HasSubstr("must have one value after the colon"));
  EXPECT_THAT(WrongFile("host: {a\n"), HasSubstr("must be YAML"));
  EXPECT_EQ(Merged({File("# nothing but a comment\n")}).port, 3247);
}

TEST(SettingsFile, OneThatIsMissingIsAnErrorOnlyIfItWasNamed) {
  EXPECT_TRUE(ReadSettingsFile("/no/such/file", false));
  EXPECT_TRUE(ReadSettingsFile("", false));
  const Result<SettingSource> named = ReadSettingsFile("/no/such/file", true);
  ASSERT_FALSE(named);
  EXPECT_EQ(named.failure().text,
            "/no/such/file: must be a readable file: No such file or directory");
}

TEST(SettingsFile, StandsBelowTheFolderOfConfigurations) {
  const auto path = [](std::map<std::string, std::string> variables) {
    return DefaultSettingsPath([variables](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_EQ(path({{"HOME", "/h"}}), "/h/.config/fairlock/ctl.yaml");
  EXPECT_EQ(path({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}}), "/x/fairlock/ctl.yaml");
  EXPECT_EQ(path({}), "");
}

TEST(PasswordFile, GivesItsFirstLine) {
  const std::string path = testing::TempDir() + "fairlock-password";
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write("se cret\r\nsecond\n");
  Result<std::string> password = ReadPasswordFile(path);
  ASSERT_TRUE(password);
  EXPECT_EQ(*password, "se cret");
  write("\nsecond\n");
  EXPECT_THAT(ReadPasswordFile(path).failure().text,
              HasSubstr("on its first line, which is empty"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace fairlock::cli
