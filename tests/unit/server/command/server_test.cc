#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ServerCommands, TimeIsTheWallClock) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("TIME"), R"(["1700000000" "123456"])");
  server.environment().unix_time_us = 1'700'000'001'000'007;
  EXPECT_EQ(client.Say("TIME"), R"(["1700000001" "7"])");
}

TEST(ServerCommands, DbSizeCountsTheKeysOfTheDatabase) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("LOCK a x");
  client.Say("LOCK b x");
  client.Say("SELECT 1");
  client.Say("LOCK c x");
  EXPECT_EQ(client.Say("DBSIZE"), "1");
  client.Say("SELECT 0");
  EXPECT_EQ(client.Say("DBSIZE"), "2");
}

TEST(ServerCommands, RoleIsMasterWithoutReplicas) {
  TestServer server;
  EXPECT_EQ(server.Connect().Send("ROLE"), "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
}

TEST(ServerCommands, ShutdownClosesWithoutReply) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.SendBytes("SHUTDOWN NOSAVE NOW\r\nPING\r\n"), "");
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(server.environment().is_shutdown_requested);
}

TEST(ServerCommands, ShutdownRefusesWhatItDoesNotUnderstand) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("SHUTDOWN FOO"), "-ERR syntax error");
  EXPECT_EQ(client.Say("SHUTDOWN SAVE NOSAVE"), "-ERR syntax error");
  EXPECT_EQ(client.Say("SHUTDOWN ABORT NOW"), "-ERR syntax error");
  EXPECT_EQ(client.Say("SHUTDOWN ABORT"), "-ERR No shutdown in progress.");
  EXPECT_FALSE(server.environment().is_shutdown_requested);
}

TEST(Info, ShowsTheUsualSectionsUnasked) {
  TestServer server;
  TestClient& client = server.Connect();
  server.AdvanceBy(90'061'000);
  const std::string info = client.Say("INFO");
  EXPECT_THAT(info, StartsWith("\"# Server\r\nredis_version:7.2.4\r\nfairlock_version:0.1.0\r\n"));
  for (const char* line : {"redis_mode:standalone",
                           "os:Linux 6.1.0 x86_64",
                           "arch_bits:64",
                           "process_id:4711",
                           "run_id:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                           "tcp_port:3247",
                           "uptime_in_seconds:90061",
                           "uptime_in_days:1",
                           "connected_clients:1",
                           "maxclients:10000",
                           "blocked_clients:0",
                           "used_memory:1090000",
                           "used_memory_human:1.04M",
                           "used_memory_rss:4194304",
                           "used_memory_rss_human:4.00M",
                           "history_memory_max:16777216",
                           "history_events:0",
                           "stats_labels:2",
                           "loading:0",
                           "role:master",
                           "connected_slaves:0",
                           "used_cpu_sys:0.250000",
                           "used_cpu_user:1.500000",
                           "cluster_enabled:0"}) {
    EXPECT_THAT(info, HasSubstr("\r\n" + std::string(line) + "\r\n"));
  }
  for (const char* title : {"Clients", "Memory", "Persistence", "Stats", "Replication", "CPU",
                            "Locks", "Cluster", "Keyspace"}) {
    EXPECT_THAT(info, HasSubstr("\r\n\r\n# " + std::string(title) + "\r\n"));
  }
  EXPECT_THAT(info, Not(HasSubstr("# Commandstats")));
}

TEST(Info, ShowsOnlyTheSectionsAskedFor) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("INFO replication"),
            "\"# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\"");
  EXPECT_EQ(client.Say("INFO keyspace nosuch REPLICATION"),
            "\"# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n# Keyspace\r\n\"");
  EXPECT_EQ(client.Send("INFO nosuch"), "$0\r\n\r\n");
  EXPECT_EQ(client.Say("INFO default").size(), client.Say("INFO").size());
  EXPECT_THAT(client.Say("INFO everything"), HasSubstr("# Commandstats"));
}

TEST(Info, CountsLocksHoldersAndWhatBecameOfThem) {
  TestServer server;
  TestClient& a = server.Connect();
  TestClient& b = server.Connect();
  a.Say("LOCK k a PX 5000");
  a.Say("LOCK short a PX 10");
  a.Say("LOCK k other");
  b.Say("LOCK k b WAIT 60s");
  server.AdvanceBy(10);
  const std::string info = a.Say("INFO locks");
  EXPECT_EQ(info,
            "\"# Locks\r\nlocks:1\r\nholders:1\r\nwaiters:1\r\nwatchers:0\r\ngranted:2\r\n"
            "granted_after_wait:0\r\ndenied:1\r\nreleased:0\r\nexpired:1\r\nbroken:0\r\n"
            "timed_out:0\r\nnewest_token:2\r\nlimit_overrides:0\r\n\"");
  EXPECT_THAT(a.Say("INFO clients"), HasSubstr("blocked_clients:1\r\n"));
  a.Say("UNLOCK k a");
  EXPECT_THAT(a.Say("INFO locks"), HasSubstr("granted:3\r\ngranted_after_wait:1\r\n"));
}

TEST(Info, ShowsDatabasesThatHaveKeys) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("INFO keyspace"), "\"# Keyspace\r\n\"");
  client.Say("LOCK a x");
  client.Say("SELECT 15");
  client.Say("LOCK b x");
  client.Say("LOCK c x");
  EXPECT_EQ(client.Say("INFO keyspace"),
            "\"# Keyspace\r\ndb0:keys=1,expires=1,avg_ttl=0\r\n"
            "db15:keys=2,expires=2,avg_ttl=0\r\n\"");
}

TEST(Info, CountsRequestsAndErrorsUntilReset) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("PING");
  client.Say("PING");
  client.Say("NOSUCH");
  client.Say("CLIENT ID");
  EXPECT_EQ(client.Say("INFO commandstats"),
            "\"# Commandstats\r\n"
            "cmdstat_ping:calls=2,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0\r\n"
            "cmdstat_client|id:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,"
            "failed_calls=0\r\n"
            "cmdstat_info:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,"
            "failed_calls=0\r\n\"");
  const std::string stats = client.Say("INFO stats");
  EXPECT_THAT(stats, HasSubstr("total_connections_received:1\r\ntotal_commands_processed:6\r\n"));
  EXPECT_THAT(stats, HasSubstr("total_error_replies:1\r\n"));
  EXPECT_EQ(client.Say("CONFIG RESETSTAT"), "OK");
  EXPECT_THAT(client.Say("INFO stats"), HasSubstr("total_commands_processed:1\r\n"));
  EXPECT_EQ(client.Say("INFO errorstats"), "\"# Errorstats\r\n\"");
  EXPECT_THAT(client.Say("INFO commandstats"),
              StartsWith("\"# Commandstats\r\ncmdstat_info:calls=3,"));
}

// Returns the statistics of that command from INFO, without its name.
std::string StatsOf(TestClient& client, const std::string& command) {
  const std::string report = client.Say("INFO commandstats");
  const std::string begin = "cmdstat_" + command + ":";
  const std::size_t at = report.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t from = at + begin.size();
  return report.substr(from, report.find("\r\n", from) - from);
}

TEST(Info, TellsHowCommandsEnded) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("GET");
  client.Say("SET k v");
  client.Say("INCR k");
  client.Say({"EVAL", "redis.pcall('INCR', 'k') redis.pcall('GET') return 1", "0"});
  client.Say({"EVAL", "return redis.call('INCR', 'k')", "0"});
  for (const char* line : {"MULTI", "INCR k", "GET k", "EXEC", "MULTI", "GET", "EXEC"}) {
    client.Say(line);
  }
  const std::string no_time = ",usec=0,usec_per_call=0.00";
  EXPECT_EQ(StatsOf(client, "get"), "calls=1" + no_time + ",rejected_calls=3,failed_calls=0");
  EXPECT_EQ(StatsOf(client, "incr"), "calls=4" + no_time + ",rejected_calls=0,failed_calls=4");
  EXPECT_EQ(StatsOf(client, "eval"), "calls=2" + no_time + ",rejected_calls=0,failed_calls=1");
  EXPECT_EQ(StatsOf(client, "exec"), "calls=2" + no_time + ",rejected_calls=0,failed_calls=1");
  TestClient& holder = server.Connect();
  holder.Say("LOCK l a");
  client.Say("LOCK l b WAIT 10s");
  holder.Say("CANCEL l b");
  EXPECT_EQ(StatsOf(client, "lock"), "calls=2" + no_time + ",rejected_calls=0,failed_calls=1");
}

TEST(Info, CountsErrorsByTheirWord) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("NOSUCH");
  client.Say("SET k v");
  client.Say("INCR k");
  client.Say({"EVALSHA", std::string(40, '0'), "0"});
  // An error from a command within a script or EXEC is counted only once.
  client.Say({"EVAL", "return redis.call('INCR', 'k')", "0"});
  client.Say({"EVAL", "redis.pcall('INCR', 'k') return 1", "0"});
  for (const char* line : {"MULTI", "INCR k", "EXEC", "MULTI", "FOO", "EXEC"}) client.Say(line);
  client.Say({"EVAL", "return redis.error_reply('MYCODE x')", "0"});
  client.Say({"EVAL", "return {1, {err = 'TWO x'}}", "0"});
  client.Say({"EVAL", "return {err = 'A:B\1 x'}", "0"});
  client.Say({"EVAL", "return {err = 'one'}", "0"});
  client.Say({"EVAL", "error('boom')", "0"});
  EXPECT_EQ(client.Say("INFO errorstats"),
            "\"# Errorstats\r\nerrorstat_A_B_:count=1\r\nerrorstat_ERR:count=8\r\n"
            "errorstat_EXECABORT:count=1\r\nerrorstat_MYCODE:count=1\r\n"
            "errorstat_NOSCRIPT:count=1\r\nerrorstat_TWO:count=1\r\n\"");
  EXPECT_THAT(client.Say("INFO stats"), HasSubstr("total_error_replies:13\r\n"));
  EXPECT_THAT(client.Say("INFO"), HasSubstr("# Errorstats\r\n"));
}

TEST(Info, CountsErrorsThatEndAWait) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("LOCK k a");
  TestClient& waiter = server.Connect();
  waiter.Say("LOCK k b WAIT 10s");
  client.Say("CANCEL k b");
  server.Connect().SendBytes("*x\r\n");
  EXPECT_EQ(client.Say("INFO errorstats"),
            "\"# Errorstats\r\nerrorstat_CANCELLED:count=1\r\nerrorstat_ERR:count=1\r\n\"");
}

// The number of error words is bounded, because scripts can invent any number of them.
TEST(Info, BoundsTheWordsOfErrors) {
  TestServer server;
  TestClient& client = server.Connect();
  for (int i = 0; i < 200; ++i) {
    client.Say({"EVAL", "return {err = ARGV[1]}", "0", "WORD" + std::to_string(i) + " x"});
  }
  const std::string report = client.Say("INFO errorstats");
  EXPECT_THAT(report, HasSubstr("errorstat_WORD127:count=1\r\n"));
  EXPECT_THAT(report, HasSubstr("errorstat_OTHER:count=72\r\n"));
  EXPECT_LT(report.size(), 5'000U);
}

TEST(Info, TellsTheTimeThatCommandsTook) {
  TestServer server;
  TestClient& client = server.Connect();
  // The test's clock counts nanoseconds, so each reading advances it by one microsecond.
  server.environment().ticks_per_look = 1'000;
  const int looks = server.environment().ticks_looks;
  client.SendBytes("PING\r\nPING\r\nPING\r\nPING\r\nSELECT 0\r\nPING\r\n");
  // The clock is read when the loop moves on to a different command, and at the end.
  EXPECT_EQ(server.environment().ticks_looks - looks, 4);
  EXPECT_EQ(StatsOf(client, "ping"),
            "calls=5,usec=2,usec_per_call=0.40,rejected_calls=0,failed_calls=0");
  EXPECT_EQ(StatsOf(client, "select"),
            "calls=1,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0");
  client.Say({"EVAL", "redis.call('ECHO', 'x') return redis.call('ECHO', 'y')", "0"});
  EXPECT_EQ(StatsOf(client, "echo"),
            "calls=2,usec=2,usec_per_call=1.00,rejected_calls=0,failed_calls=0");
  // The time of EVAL includes that of the script's commands.
  EXPECT_EQ(StatsOf(client, "eval"),
            "calls=1,usec=5,usec_per_call=5.00,rejected_calls=0,failed_calls=0");
}

TEST(Info, AResetLeavesWhatThereIsNow) {
  TestServer server;
  TestClient& holder = server.Connect();
  TestClient& waiter = server.Connect();
  holder.Say("LOCK k a");
  waiter.Say("LOCK k b WAIT 60s");
  server.parts().statistics.gauges.unread_reply_bytes = 5;
  holder.Say("CONFIG RESETSTAT");
  EXPECT_THAT(holder.Say("INFO clients"), HasSubstr("blocked_clients:1\r\n"));
  EXPECT_EQ(server.parts().statistics.gauges.unread_reply_bytes, 5U);
  holder.Say("UNLOCK k a");
  EXPECT_THAT(holder.Say("INFO clients"), HasSubstr("blocked_clients:0\r\n"));
}

TEST(Info, AWaiterThatGoesIsNotCountedAnyMore) {
  TestServer server;
  TestClient& holder = server.Connect();
  TestClient& waiter = server.Connect();
  holder.Say("LOCK k a");
  waiter.Say("LOCK k b WAIT 60s");
  waiter.Close();
  EXPECT_THAT(holder.Say("INFO clients"), HasSubstr("blocked_clients:0\r\n"));
}

TEST(Info, ShowsResidentMemoryWhenTheAllocatorDoesNotTell) {
  TestServer server;
  server.environment().resources.allocated_bytes = 0;
  server.environment().resources.resident_bytes = 1000;
  EXPECT_THAT(server.Connect().Say("INFO memory"),
              HasSubstr("used_memory:1000\r\nused_memory_human:1000B\r\n"));
}

TEST(Config, GetFindsByGlobs) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("CONFIG GET maxclients"), R"(["maxclients" "10000"])");
  EXPECT_EQ(client.Say("CONFIG GET MAX*"), R"(["maxclients" "10000"])");
  EXPECT_EQ(client.Say("CONFIG GET nosuch"), "[]");
  EXPECT_EQ(client.Say("CONFIG GET default* databases data*"),
            R"(["default_lease" "30s" "databases" "16"])");
  EXPECT_EQ(client.Say("CONFIG GET save"), R"(["save" ""])");
  client.Say("HELLO 3");
  EXPECT_EQ(client.Say("CONFIG GET databases"), R"({"databases" "16"})");
}

TEST(Config, SetChangesAllOrNothing) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("CONFIG SET MaxClients 50 default_lease 10s"), "OK");
  EXPECT_EQ(client.Say("CONFIG GET *"), R"(["default_lease" "10s" "maxclients" "50" )"
                                        R"("appendonly" "no" "databases" "16" "save" "" )"
                                        R"("timeout" "0"])");
  EXPECT_EQ(client.Say("CONFIG SET maxclients 60 default_lease bad"),
            "-ERR CONFIG SET failed (possibly related to argument 'default_lease') - bad value");
  EXPECT_EQ(client.Say("CONFIG GET maxclients"), R"(["maxclients" "50"])");
}

// Client libraries set options to the values that they need. SET accepts these options because they
// already have those values.
TEST(Config, SetTakesFixedSettingsAsTheyAre) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("CONFIG SET timeout 0"), "OK");
  EXPECT_EQ(client.Say("CONFIG SET maxclients 50 TIMEOUT 0 save \"\" appendonly NO"), "OK");
  EXPECT_EQ(client.Say("CONFIG GET maxclients"), R"(["maxclients" "50"])");
  EXPECT_EQ(client.Say("CONFIG SET maxclients 60 timeout 5"),
            "-ERR CONFIG SET failed (possibly related to argument 'timeout') - must be '0' on this "
            "server, got '5'");
  EXPECT_EQ(client.Say("CONFIG SET databases 16"),
            "-ERR CONFIG SET failed (possibly related to argument 'databases') - can't set "
            "immutable config");
  EXPECT_EQ(client.Say("CONFIG SET timeout 0 timeout 0"),
            "-ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate "
            "parameter");
  EXPECT_EQ(client.Say("CONFIG GET maxclients timeout"), R"(["maxclients" "50" "timeout" "0"])");
}

TEST(Config, SetRefusesInTheWordsOfRedis) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("CONFIG SET nosuch 1"),
            "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'");
  EXPECT_EQ(client.Say("CONFIG SET max* 1"),
            "-ERR Unknown option or number of arguments for CONFIG SET - 'max*'");
  EXPECT_EQ(client.Say("CONFIG SET databases 3"),
            "-ERR CONFIG SET failed (possibly related to argument 'databases') - can't set "
            "immutable config");
  EXPECT_EQ(client.Say("CONFIG SET maxclients 1 maxclients 2"),
            "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - duplicate "
            "parameter");
  EXPECT_EQ(client.Say("CONFIG SET maxclients 1 nosuch"), "-ERR syntax error");
  EXPECT_EQ(client.Say("CONFIG GET maxclients"), R"(["maxclients" "10000"])");
}

}  // namespace
}  // namespace fairlock::command
