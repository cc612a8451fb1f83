#include "cli/connection/server_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fairlock::cli {
namespace {

using testing::ElementsAre;

std::string Parsed(std::string_view list) {
  const auto servers = ParseServers(list);
  if (!servers) return "none";
  std::string text;
  for (const ServerAddress& server : *servers) {
    text += (text.empty() ? "" : " ") + server.host + "|" + std::to_string(server.port);
  }
  return text;
}

TEST(ParseServers, ReadsHostsWithAndWithoutPorts) {
  EXPECT_EQ(Parsed("a"), "a|0");
  EXPECT_EQ(Parsed("a,b:1, c.example:65535 "), "a|0 b|1 c.example|65535");
  EXPECT_EQ(Parsed("10.0.0.1:3247"), "10.0.0.1|3247");
}

TEST(ParseServers, ReadsIpv6AddressesWithAndWithoutBrackets) {
  EXPECT_EQ(Parsed("::1"), "::1|0");
  EXPECT_EQ(Parsed("[::1]"), "::1|0");
  EXPECT_EQ(Parsed("[fd00::2]:3248,::1"), "fd00::2|3248 ::1|0");
}

TEST(ParseServers, RefusesWhatIsNoServer) {
  for (const std::string_view list : {"", " ", ",", "a,", ",a", "a,,b", "a:", "a:0", "a:65536",
                                      "a:x", ":1", "[::1", "[]:1", "[::1]x", "[::1]:", "[::1]1"}) {
    EXPECT_EQ(Parsed(list), "none") << list;
  }
}

TEST(ParseServers, BoundsTheList) {
  std::string list = "a";
  for (std::size_t i = 1; i < kServersMax; ++i) list += ",a";
  EXPECT_TRUE(ParseServers(list));
  EXPECT_FALSE(ParseServers(list + ",a"));
}

ServerList ThreeServers() {
  Settings settings;
  settings.host = "a,b:1,[::1]";
  return ServerList(settings);
}

// Plays a round in which no server can be used, and returns the names in the order tried.
std::vector<std::string> NamesOfRound(ServerList& servers) {
  std::vector<std::string> names;
  servers.BeginRound();
  do {
    names.push_back(servers.name());
  } while (servers.TryNext("down", false));
  return names;
}

TEST(ServerList, ARoundTriesEachOnceAndTheNextBeginsAlike) {
  ServerList servers = ThreeServers();
  EXPECT_TRUE(servers.has_choice());
  EXPECT_THAT(NamesOfRound(servers), ElementsAre("a:3247", "b:1", "[::1]:3247"));
  EXPECT_EQ(servers.reasons(), "a:3247: down; b:1: down; [::1]:3247: down");
  EXPECT_THAT(NamesOfRound(servers), ElementsAre("a:3247", "b:1", "[::1]:3247"));
}

TEST(ServerList, ARoundBeginsWithTheServerThatWorked) {
  ServerList servers = ThreeServers();
  servers.BeginRound();
  EXPECT_TRUE(servers.is_first());
  EXPECT_TRUE(servers.TryNext("down", false));
  EXPECT_FALSE(servers.is_first());
  // In the next round, the second one works.
  EXPECT_THAT(NamesOfRound(servers), ElementsAre("b:1", "[::1]:3247", "a:3247"));
  servers.Skip();
  EXPECT_THAT(NamesOfRound(servers), ElementsAre("[::1]:3247", "a:3247", "b:1"));
}

TEST(ServerList, RemembersAStandbyForOneRound) {
  ServerList servers = ThreeServers();
  servers.BeginRound();
  EXPECT_FALSE(servers.found_standby());
  servers.TryNext("standby", true);
  servers.TryNext("down", false);
  EXPECT_TRUE(servers.found_standby());
  servers.BeginRound();
  EXPECT_FALSE(servers.found_standby());
}

TEST(ServerList, AcceptsAStandbyOnlyIfTold) {
  ServerList servers = ThreeServers();
  EXPECT_TRUE(servers.chooses());
  servers.AcceptStandby();
  EXPECT_FALSE(servers.chooses());
  EXPECT_TRUE(servers.has_choice());
}

TEST(ServerList, OfASocketIsOneServer) {
  Settings settings;
  settings.host = "a,b";
  settings.socket = "/run/f.sock";
  const ServerList servers(settings);
  EXPECT_FALSE(servers.has_choice());
  EXPECT_EQ(servers.name(), "unix:/run/f.sock");
}

TEST(ServerList, ARedirectComesBeforeTheListedServers) {
  Settings settings;
  settings.host = "a:1,b:2";
  ServerList servers(settings);
  servers.Skip();
  servers.Redirect({"c", 3});
  EXPECT_EQ(servers.name(), "c:3");
  EXPECT_EQ(servers.size(), 3U);
  servers.BeginRound();
  EXPECT_TRUE(servers.TryNext("refused", false));
  EXPECT_EQ(servers.name(), "a:1");
  servers.Redirect({"::1", 4});
  EXPECT_EQ(servers.name(), "[::1]:4") << "it replaces the earlier one";
  EXPECT_EQ(servers.size(), 3U);
}

TEST(ServerList, ARedirectLeavesTheUnixSocket) {
  Settings settings;
  settings.socket = "/run/fairlock.sock";
  ServerList servers(settings);
  EXPECT_TRUE(servers.is_at_socket());
  EXPECT_FALSE(servers.has_choice());
  servers.Redirect({"c", 3});
  EXPECT_FALSE(servers.is_at_socket());
  EXPECT_TRUE(servers.has_choice());
  EXPECT_FALSE(servers.chooses()) << "only listed servers are chosen from";
  servers.BeginRound();
  EXPECT_TRUE(servers.TryNext("refused", false));
  EXPECT_TRUE(servers.is_at_socket());
}

}  // namespace
}  // namespace fairlock::cli
