// Redis commands on locks: how errors are worded, which forms arguments may take, and what is
// shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RedisCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient& client_ = server_.Connect();
};

TEST_F(RedisCommands, RefuseTimesInTheWordsOfRedis) {
  EXPECT_EQ(client_.Say("SET k v EX 0"), "-ERR invalid expire time in 'set' command");
  EXPECT_EQ(client_.Say("SET k v PX -1"), "-ERR invalid expire time in 'set' command");
  EXPECT_EQ(client_.Say("SET k v EXAT 0"), "-ERR invalid expire time in 'set' command");
  EXPECT_EQ(client_.Say("SETEX k 0 v"), "-ERR invalid expire time in 'setex' command");
  EXPECT_EQ(client_.Say("PSETEX k -5 v"), "-ERR invalid expire time in 'psetex' command");
  EXPECT_EQ(client_.Say("SET k v EX ten"), "-ERR value is not an integer or out of range");
  EXPECT_EQ(client_.Say("SET k v EX 010"), "-ERR value is not an integer or out of range");
  EXPECT_THAT(client_.Say("SET k v EX 9223372036854776"), StartsWith("-ERR invalid expire time"));
  EXPECT_THAT(client_.Say("SET k v PX 9223372036854775807"), StartsWith("-ERR invalid expire "));
  EXPECT_THAT(client_.Say("EXPIRE k 9223372036854775807"), StartsWith("-ERR invalid expire time"));
  EXPECT_EQ(client_.Say("EXISTS k"), "0");
  client_.Say("SET k v");
  for (const std::string command : {"expire", "expireat"}) {
    EXPECT_EQ(client_.Say(command + " k -9223372036854775808"),
              "-ERR invalid expire time in '" + command + "' command");
    EXPECT_EQ(client_.Say(command + " k -9223372036854776"),
              "-ERR invalid expire time in '" + command + "' command");
  }
  EXPECT_EQ(client_.Say("EXISTS k"), "1");
  EXPECT_EQ(client_.Say("EXPIRE k -9223372036854775"), "1");
  client_.Say("SET k v");
  EXPECT_EQ(client_.Say("PEXPIRE k -9223372036854775808"), "1");
  EXPECT_EQ(client_.Say("EXISTS k"), "0");
}

TEST_F(RedisCommands, LeasesAboveTheLongestBecomeTheLongest) {
  const std::string huge = "9007199254740991";  // JavaScript's MAX_SAFE_INTEGER
  for (const char* end :
       {"EX 31536001", "PX 31536000001", "EX 9007199254", "PX 9007199254740991",
        "EXAT 9223372036854775", "PXAT 9223372036854775807", "PXAT 1800000000000000"}) {
    EXPECT_EQ(client_.Say("SET k v " + std::string(end)), "OK") << end;
    EXPECT_EQ(client_.Say("PTTL k"), "31536000000") << end;
    client_.Say("DEL k");
  }
  EXPECT_EQ(client_.Say("SETEX k 99999999999 v"), "OK");
  EXPECT_EQ(client_.Say("PTTL k"), "31536000000");
  EXPECT_EQ(client_.Say("PSETEX k " + huge + " v"), "OK");
  EXPECT_EQ(client_.Say("PTTL k"), "31536000000");
  for (const std::string& command : {"PEXPIRE k " + huge, std::string("EXPIRE k 99999999999"),
                                     std::string("EXPIREAT k 99999999999"), "PEXPIREAT k " + huge,
                                     "EVAL \"return redis.call('PEXPIRE','k'," + huge + ")\" 0"}) {
    client_.Say("SET k v PX 1000");
    EXPECT_EQ(client_.Say(command), "1") << command;
    EXPECT_EQ(client_.Say("PTTL k"), "31536000000") << command;
  }
  // The error from LOCK says what is allowed.
  EXPECT_THAT(client_.Say("LOCK other me EX 31536001"), HasSubstr("31536000"));
  EXPECT_EQ(client_.Say("LOCKED other"), "0");
}

TEST_F(RedisCommands, RefuseOptionsThatExcludeOneAnother) {
  for (const std::string_view options :
       {"NX XX", "XX NX", "EX 1 PX 1", "EX 1 KEEPTTL", "KEEPTTL PX 1", "EX", "PXAT 1 EXAT 1",
        "NX EX", "FOO", "EX 1 2"}) {
    EXPECT_EQ(client_.Say("SET k v " + std::string(options)), "-ERR syntax error") << options;
  }
  EXPECT_EQ(client_.Say("SET k v EX 10 EX 20 NX NX GET GET"), "nil");
  EXPECT_EQ(client_.Say("TTL k"), "20");
  EXPECT_EQ(client_.Say("EXPIRE k 5 NX XX"),
            "-ERR NX and XX, GT or LT options at the same time are not compatible");
  EXPECT_EQ(client_.Say("EXPIRE k 5 GT LT"),
            "-ERR GT and LT options at the same time are not compatible");
  EXPECT_EQ(client_.Say("EXPIRE k 5 FOO"), "-ERR Unsupported option FOO");
}

TEST_F(RedisCommands, RefuseKeysAndValuesThatAreNone) {
  EXPECT_THAT(client_.Say({"SET", "k", ""}),
              StartsWith("-ERR value must have 1 to 8192 bytes, got 0"));
  EXPECT_THAT(client_.Say({"SET", "k", ""}), HasSubstr("a cache belongs elsewhere"));
  const std::string long_value(8193, 'v');
  EXPECT_THAT(client_.Say({"SET", "k", long_value}), HasSubstr("fairlock keeps locks, not data"));
  EXPECT_THAT(client_.Say({"MSETNX", "k", "v", "l", long_value}), HasSubstr("got 8193"));
  EXPECT_EQ(client_.Say("EXISTS k l"), "0");
  const std::string long_key(1025, 'k');
  EXPECT_THAT(client_.Say({"MGET", "k", long_key}),
              StartsWith("-ERR key must have at most 1024 bytes, got 1025"));
  EXPECT_THAT(client_.Say({"WATCH", "k", long_key}), StartsWith("-ERR key must have at most"));
  EXPECT_EQ(client_.Say({"SET", "k", long_value.substr(1)}), "OK");
}

TEST_F(RedisCommands, TakeTheEmptyKeyWhichLockRefuses) {
  EXPECT_EQ(client_.Say({"SET", "", "v", "NX"}), "OK");
  EXPECT_EQ(client_.Say({"GET", ""}), "\"v\"");
  EXPECT_EQ(client_.Say({"WATCH", ""}), "OK");
  EXPECT_EQ(client_.Say({"LOCK", "", "a"}), "-ERR key must have 1 to 1024 bytes, got 0");
  EXPECT_EQ(client_.Say({"UNLINK", "k", ""}), "1");
}

TEST_F(RedisCommands, MSetDoesForEachKeyWhatSetDoes) {
  client_.Say("SET own v PX 5000");
  client_.Say("SET other w PX 5000");
  client_.Say("HSET value f v");
  const std::string token = client_.Say("LOCKINFO own");
  EXPECT_EQ(client_.Say("MSET own v other v free v value v"), "OK");
  EXPECT_EQ(client_.Say("MGET own other free value"), "[\"v\" \"v\" \"v\" \"v\"]");
  EXPECT_EQ(client_.Say("TTL own"), "-1");
  EXPECT_EQ(client_.Say("TTL other"), "-1");
  EXPECT_EQ(client_.Say("LOCKED value v"), "1");
  EXPECT_EQ(client_.Say("MSET free a free b own v free c"), "OK");
  EXPECT_EQ(client_.Say("GET free"), "\"c\"");
  EXPECT_THAT(client_.Say("MSET a v b"), StartsWith("-ERR wrong number of arguments for 'mset'"));
}

TEST_F(RedisCommands, MSetSetsAllOrNothing) {
  client_.Say("SET own v PX 5000");
  client_.Say("HSET value f v");
  client_.Say("LOCK native a");
  client_.Say("LOCK reserved a");
  TestClient& waiter = server_.Connect();
  waiter.Say("LOCK reserved b KEEP 60s");
  client_.Say("UNLOCK reserved a");
  for (const auto& [key, why] :
       {std::pair{"native", "held through LOCK"}, {"reserved", "reserved for another owner"}}) {
    const std::string reply =
        client_.Say("MSET own w value v free v " + std::string(key) + " v last v");
    EXPECT_THAT(reply, StartsWith("-ERR key: '" + std::string(key) + "'"));
    EXPECT_THAT(reply, HasSubstr(why));
  }
  EXPECT_THAT(client_.Say({"MSET", "free", "v", "last", std::string(8193, 'v')}),
              StartsWith("-ERR value must have 1 to 8192 bytes"));
  EXPECT_EQ(client_.Say("EXISTS free last"), "0");
  EXPECT_EQ(client_.Say("GET own"), "\"v\"");
  EXPECT_EQ(client_.Say("PTTL own"), "5000");
  EXPECT_EQ(client_.Say("TYPE value"), "hash");
  EXPECT_EQ(client_.Say("MSET native a own v"), "OK");  // the owner of the native hold itself
  server_.parts().locks.engine().CheckInvariants();
}

TEST(RedisBounds, MSetSetsNothingIfTheLocksWouldBeTooMany) {
  TestServer server({.locks_max = 3});
  TestClient& client = server.Connect();
  client.Say("SET own v");
  EXPECT_THAT(client.Say("MSET own w a v b v c v"), StartsWith("-FULL "));
  EXPECT_EQ(client.Say("GET own"), "\"v\"");
  EXPECT_EQ(client.Say("EXISTS a b c"), "0");
  EXPECT_EQ(client.Say("MSET own w a v b v"), "OK");
  TestServer of_client({.claims_per_client_max = 2});
  TestClient& other = of_client.Connect();
  EXPECT_THAT(other.Say("MSET a v b v c v"), StartsWith("-FULL "));
  EXPECT_EQ(other.Say("EXISTS a b c"), "0");
}

TEST_F(RedisCommands, LeaveAHoldOfLockWhoseOwnerTheyWouldChange) {
  client_.Say("LOCK k 7");
  for (const char* request : {"INCRBYFLOAT k 1", "BITFIELD k SET u8 0 1", "MSET k v"}) {
    EXPECT_THAT(client_.Say(request), HasSubstr("is held through LOCK")) << request;
  }
  EXPECT_EQ(client_.Say("BITFIELD k GET u8 0"), "[0]");
  EXPECT_EQ(client_.Say("GETEX k EX 10"), "\"\"");
  EXPECT_EQ(client_.Say("TTL k"), "30");
  EXPECT_EQ(client_.Say("LOCKED k 7"), "1");
  EXPECT_THAT(client_.Say("BITFIELD big SET u8 65536 1"), HasSubstr("got 8193"));
}

TEST_F(RedisCommands, CountOnlyWholeNumbers) {
  client_.Say("SET k 007");
  EXPECT_EQ(client_.Say("INCR k"), "-ERR value is not an integer or out of range");
  client_.Say("SET k 9223372036854775807");
  EXPECT_EQ(client_.Say("INCR k"), "-ERR increment or decrement would overflow");
  EXPECT_EQ(client_.Say("DECRBY k -9223372036854775808"), "-ERR decrement would overflow");
  EXPECT_EQ(client_.Say("INCRBY k x"), "-ERR value is not an integer or out of range");
  EXPECT_EQ(client_.Say("DECR k"), "9223372036854775806");
}

TEST_F(RedisCommands, SayWhatToUseInstead) {
  EXPECT_EQ(client_.Say("FOO a"), "-ERR unknown command 'FOO', with args beginning with: 'a' ");
  for (const auto& [line, what] : {std::pair{"HSTRLEN k f", "HINCRBY"},
                                   {"lmpop 1 k LEFT", "BLPOP"},
                                   {"ZUNION 1 k", "semaphore"},
                                   {"APPEND k v", "use SET"},
                                   {"OBJECT ENCODING k", "TYPE"},
                                   {"SORT k", "SCAN"},
                                   {"RENAME k l", "TRANSFER"}}) {
    EXPECT_THAT(client_.Say(line), StartsWith("-ERR unknown command '")) << line;
    EXPECT_THAT(client_.Say(line), HasSubstr("fairlock is a lock server")) << line;
    EXPECT_THAT(client_.Say(line), HasSubstr(what)) << line;
  }
  EXPECT_EQ(client_.Say({"HSET HGET", "k"}),
            "-ERR unknown command 'HSET HGET', with args beginning with: 'k' ");
  EXPECT_THAT(client_.Say({"EVAL", "return redis.call('hstrlen', 'k', 'f')", "0"}),
              HasSubstr("HINCRBY"));
}

TEST_F(RedisCommands, OfClustersAreRefusedInTheWordsOfRedis) {
  for (const std::string_view line :
       {"CLUSTER INFO", "CLUSTER MYID", "CLUSTER SLOTS", "cluster shards", "CLUSTER NODES",
        "CLUSTER KEYSLOT k", "READONLY", "READWRITE", "ASKING"}) {
    EXPECT_EQ(client_.Say(line), "-ERR This instance has cluster support disabled") << line;
  }
  EXPECT_EQ(client_.Say("cluster"), "-ERR wrong number of arguments for 'cluster' command");
}

TEST_F(RedisCommands, WithTooFewArgumentsNameAFormThatCanBeTyped) {
  EXPECT_THAT(client_.Say("LIMIT"), HasSubstr("command; usage: LIMIT HELP"));
  EXPECT_THAT(client_.Say("LIMIT SET a"), HasSubstr("; usage: LIMIT SET pattern n [EX seconds]"));
  EXPECT_THAT(client_.Say("LIMIT LIST a"), HasSubstr("; usage: LIMIT LIST"));
  EXPECT_THAT(client_.Say("SUBSTR k 0 1"), HasSubstr("GETRANGE, which"));
}

TEST_F(RedisCommands, TellUnixTimes) {
  const std::int64_t now_ms = server_.environment().unix_time_us / 1000;
  client_.Say("SET k v PXAT " + std::to_string(now_ms + 5000));
  EXPECT_EQ(client_.Say("PTTL k"), "5000");
  EXPECT_EQ(client_.Say("PEXPIRETIME k"), std::to_string(now_ms + 5000));
  EXPECT_EQ(client_.Say("EXPIRETIME k"), std::to_string((now_ms + 5500) / 1000));
  EXPECT_EQ(client_.Say("EXPIREAT k " + std::to_string(now_ms / 1000 + 100)), "1");
  EXPECT_EQ(client_.Say("TTL k"), "100");
  EXPECT_EQ(client_.Say("EXPIREAT k " + std::to_string(now_ms / 1000 - 1)), "1");
  EXPECT_EQ(client_.Say("PEXPIRETIME k"), "-2");
}

TEST_F(RedisCommands, WalkTheKeysThatExist) {
  for (int i = 0; i < 200; ++i) client_.Say("SET key:" + std::to_string(i) + " v");
  client_.Say("SELECT 1");
  client_.Say("SET other v");
  EXPECT_EQ(client_.Say("KEYS *"), "[\"other\"]");
  EXPECT_EQ(client_.Say("RANDOMKEY"), "\"other\"");
  EXPECT_EQ(client_.Say("FLUSHDB"), "OK");
  EXPECT_EQ(client_.Say("RANDOMKEY"), "nil");
  client_.Say("SELECT 0");
  EXPECT_EQ(client_.Say("KEYS key:1?"), client_.Say("KEYS key:1[0-9]"));
  EXPECT_EQ(client_.Say("SCAN 0 COUNT 100000 MATCH key:7"), "[\"0\" [\"key:7\"]]");
  EXPECT_EQ(client_.Say("SCAN x"), "-ERR invalid cursor");
  EXPECT_EQ(client_.Say("SCAN 99999999999999999999"), "-ERR invalid cursor");
  EXPECT_EQ(client_.Say("SCAN 0 COUNT 0"), "-ERR syntax error");
  EXPECT_EQ(client_.Say("SCAN 0 MATCH"), "-ERR syntax error");
  EXPECT_EQ(client_.Say("SCAN 0 COUNT x"), "-ERR value is not an integer or out of range");
  EXPECT_EQ(client_.Say("FLUSHALL FOO"), "-ERR syntax error");
  EXPECT_EQ(client_.Say("FLUSHALL"), "OK");
  EXPECT_EQ(client_.Say("DBSIZE"), "0");
}

// Takes more locks, and makes more values, than are flushed in one step.
void TakeMany(TestClient& client, int count) {
  for (int i = 0; i < count; ++i) {
    client.Say("SET key:" + std::to_string(i) + " v");
    client.Say("SADD set:" + std::to_string(i) + " v");
  }
}

TEST_F(RedisCommands, FlushManyKeysInSteps) {
  TestClient& other = server_.Connect();
  TestClient& waiter = server_.Connect();
  TakeMany(client_, 1000);
  client_.Say("SELECT 1");
  client_.Say("SET k v");
  client_.Say("SELECT 0");
  EXPECT_EQ(waiter.Say("LOCK key:1 next WAIT 1h"), "");
  EXPECT_EQ(client_.Say("FLUSHDB"), "");
  // Other requests are executed in between, and later ones of the same client wait.
  EXPECT_EQ(client_.Say("DBSIZE"), "");
  EXPECT_EQ(other.Say("DBSIZE"), "2000");
  EXPECT_TRUE(server_.parts().Advance(server_.now(), 100));
  const int left = std::stoi(other.Say("DBSIZE"));
  EXPECT_LT(left, 2000);
  EXPECT_GT(left, 1000);
  server_.AdvanceBy(0);
  EXPECT_EQ(client_.Hear(), "OK\n1");
  EXPECT_EQ(waiter.Hear(), "1002");
  EXPECT_EQ(client_.Say("FLUSHALL"), "OK");
  EXPECT_EQ(server_.parts().statistics.gauges.waiting_clients, 0U);
}

TEST_F(RedisCommands, FlushStopsWithItsConnection) {
  TestClient& other = server_.Connect();
  TakeMany(client_, 1000);
  client_.Say("FLUSHALL");
  server_.parts().Advance(server_.now(), 100);
  client_.Close();
  server_.AdvanceBy(0);
  EXPECT_NE(other.Say("DBSIZE"), "0");
  other.Say("FLUSHALL");
  server_.AdvanceBy(0);
  EXPECT_EQ(other.Hear(), "OK");
  EXPECT_EQ(other.Say("DBSIZE"), "0");
}

TEST_F(RedisCommands, FlushNotTooManyKeysInOneStep) {
  TakeMany(client_, 501);
  const std::string refusal =
      "-FULL within MULTI or a script, at most 1000 locks and values can be flushed; send FLUSHDB "
      "or FLUSHALL alone";
  client_.Say("MULTI");
  client_.Say("FLUSHALL");
  EXPECT_EQ(client_.Say("EXEC"), "[" + refusal + "]");
  EXPECT_THAT(client_.Say({"EVAL", "return redis.call('FLUSHDB')", "0"}),
              testing::HasSubstr("-FULL within MULTI or a script"));
  EXPECT_EQ(client_.Say("DBSIZE"), "1002");
}

// A transport that accepts no output, so that no reply is ever sent.
class DeafTransport final : public Transport {
 public:
  void NoticeOutput() override {}
  bool AdmitOutput(std::size_t) override { return true; }
  void CloseNow() override {}
};

// Returns what GET k shows after a client has sent the line and disconnected before its reply was
// sent.
std::string GetAfterDeaf(TestServer& server, TestClient& looking, std::string line) {
  DeafTransport transport;
  RequestPipeline deaf(server.parts().pipeline, transport, {}, server.now());
  line += "\r\n";
  deaf.Consume(line, 1, server.now());
  deaf.Detach(server.now());
  return looking.Say("GET k");
}

TEST_F(RedisCommands, UndoAGrantThatWasNotDelivered) {
  for (const char* line :
       {"SET k v NX", "SET k v", "SETNX k v", "INCR k", "GETSET k v", "MSETNX k v l w",
        "MSET k v l w", "INCRBYFLOAT k 1", "BITFIELD k SET u8 0 1"}) {
    EXPECT_EQ(GetAfterDeaf(server_, client_, line), "nil") << line;
  }
  EXPECT_EQ(client_.Say("EXISTS l"), "0");
}

TEST_F(RedisCommands, DoNotUndoATakeoverNorARenewal) {
  client_.Say("SET k 1");
  EXPECT_EQ(GetAfterDeaf(server_, client_, "SET k 2"), "\"2\"");
  EXPECT_EQ(GetAfterDeaf(server_, client_, "INCR k"), "\"3\"");
  EXPECT_EQ(GetAfterDeaf(server_, client_, "SET k 3 PX 5000"), "\"3\"");
  EXPECT_EQ(client_.Say("PTTL k"), "5000");
}

TEST_F(RedisCommands, TripWatchesAsInRedis) {
  TestClient& other = server_.Connect();
  const auto exec_after = [&](std::string_view line) {
    client_.Say("WATCH k");
    other.Say(line);
    client_.Say("MULTI");
    client_.Say("PING");
    return client_.Say("EXEC");
  };
  EXPECT_EQ(exec_after("SET k a NX PX 1000"), "nil");
  EXPECT_EQ(exec_after("SET k b NX"), "[PONG]");
  EXPECT_EQ(exec_after("SET k b"), "nil");
  EXPECT_EQ(exec_after("PEXPIRE k 5000"), "nil");
  EXPECT_EQ(exec_after("INCR free"), "[PONG]");
  EXPECT_EQ(exec_after("DEL k"), "nil");
  EXPECT_EQ(exec_after("DEL k"), "[PONG]");
}

TEST_F(RedisCommands, PublishInTheWordsOfRedis) {
  TestClient& listener = server_.Connect();
  listener.Say("HELLO 3");
  listener.Say("SUBSCRIBE __keyspace@0__:k");
  const auto heard_after = [&](std::string_view line) {
    listener.Hear();
    client_.Say(line);
    std::string words;
    const std::string heard = listener.Hear();
    for (const std::string_view word : {"set", "expire", "del", "expired"}) {
      const std::string quoted = "\"" + std::string(word) + "\"";
      for (std::size_t at = heard.find(quoted); at != std::string::npos;
           at = heard.find(quoted, at + 1)) {
        words.append(words.empty() ? "" : " ").append(word);
      }
    }
    return words;
  };
  EXPECT_EQ(heard_after("SET k a PX 1000"), "set");
  EXPECT_EQ(heard_after("SET k a PX 2000"), "expire");
  EXPECT_EQ(heard_after("SET k b"), "set");
  EXPECT_EQ(heard_after("EXPIRE k 10"), "expire");
  EXPECT_EQ(heard_after("DEL k"), "del");
  EXPECT_EQ(heard_after("SET k c NX"), "set");
  EXPECT_EQ(heard_after("SET k d NX"), "");
  EXPECT_EQ(heard_after("INCR k"), "");
  EXPECT_EQ(heard_after("EXPIRE k 0"), "del");
}

}  // namespace
}  // namespace fairlock::command
