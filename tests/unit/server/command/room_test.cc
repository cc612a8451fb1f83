// Requests that are refused for want of room: a script or a transaction meets such an error only
// before it has changed anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

engine::EngineOptions OptionsWithBounds() {
  engine::EngineOptions options;
  options.locks_max = 20;
  options.claims_per_client_max = 10;
  return options;
}

// A state in which there is no room for more.
struct Want {
  std::string name;
  std::function<void(TestServer&)> begin;
  std::vector<std::string> refused;  // requests that are then refused
  std::string error;
};

void ShortOfMemory(TestServer& server) {
  server.parts().availability.BoundMemory(1000, server.now());
  server.environment().memory_in_use = 1001;
}

void ShortOfSpace(TestServer& server) {
  server.parts().availability.set_service(Service::kShortOfSpace);
}

// Every request that grows something.
const std::vector<std::string> kGrowing = {"LOCK k a",
                                           "MLOCK 2 k1 k2 a",
                                           "SET k v NX PX 1000",
                                           "SET k v",
                                           "SETNX k v",
                                           "MSETNX k v",
                                           "INCR k",
                                           "HSET f f v",
                                           "HSETNX h g v",
                                           "HINCRBY h n 1",
                                           "RPUSH l c",
                                           "LPUSH l c",
                                           "SADD s m2",
                                           "ZADD z 1 m2",
                                           "ZINCRBY z 1 m2",
                                           "LMOVE l q LEFT LEFT",
                                           "MSET k v",
                                           "INCRBYFLOAT k 1",
                                           "BITFIELD k SET u8 0 1",
                                           "HINCRBYFLOAT h n 1",
                                           "LPUSHX l c",
                                           "RPUSHX l c",
                                           "LSET l 0 longer",
                                           "LINSERT l BEFORE a c",
                                           "ZUNIONSTORE f 1 z",
                                           "ZINTERSTORE f 1 z"};

std::vector<Want> Wants() {
  const std::vector<std::string> into_values = {
      "HSET h g v", "HSETNX h g v", "HINCRBY h n 1",       "RPUSH l c",
      "SADD s m2",  "ZADD z 1 m2",  "ZINCRBY z 1 m2",      "HINCRBYFLOAT h n 1",
      "LPUSHX l c", "RPUSHX l c",   "LINSERT l BEFORE a c"};
  const std::vector<std::string> new_locks = {
      "LOCK k a", "SET k v NX PX 1000", "SETNX k v",       "MSETNX k v",
      "INCR k",   "MSET k v",           "INCRBYFLOAT k 1", "BITFIELD k SET u8 0 1"};
  const std::vector<std::string> new_values = {"HSET f f v",        "RPUSH f v",
                                               "SADD f v",          "ZADD f 1 v",
                                               "ZUNIONSTORE f 1 z", "ZINTERSTORE f 1 z"};
  return {
      {"memory", ShortOfMemory, kGrowing, "-OOM "},
      {"space", ShortOfSpace, kGrowing, "-STORAGE "},
      {"elements of a value",
       [](TestServer& server) { server.parts().values.limits().elements_max = 1; }, into_values,
       "-FULL "},
      {"bytes of a value", [](TestServer& server) { server.parts().values.limits().bytes_max = 1; },
       into_values, "-FULL "},
      {"values", [](TestServer& server) { server.parts().values.limits().values_max = 4; },
       new_values, "-FULL "},
      {"locks",
       [](TestServer& server) {
         TestClient& third = server.Connect();
         TestClient& fourth = server.Connect();
         for (int i = 0; i < 10; ++i) {
           third.Say("LOCK third" + std::to_string(i) + " a");
           fourth.Say("LOCK fourth" + std::to_string(i) + " a");
         }
       },
       new_locks, "-FULL "},
  };
}

class RoomTest : public testing::TestWithParam<Want> {
 protected:
  RoomTest() {
    client_.Say("HSET h f v");
    client_.Say("RPUSH l a b c d e f");
    client_.Say("SADD s m");
    client_.Say("ZADD z 1 m");
    GetParam().begin(server_);
  }
  ~RoomTest() override { server_.parts().locks.engine().CheckInvariants(); }

  // A script that executes requests, and returns the reply to the last one.
  std::string Script(const std::vector<std::string>& requests) {
    std::string text =
        "local call = function(line) local words = {} "
        "for word in string.gmatch(line, '%S+') do words[#words + 1] = word end "
        "return redis.pcall(unpack(words)) end local last ";
    for (const std::string& request : requests) text += "last = call('" + request + "') ";
    return client_.Say({"EVAL", text + "return last", "0"});
  }

  TestServer server_{OptionsWithBounds()};
  TestClient& client_ = server_.Connect();
};

TEST_P(RoomTest, ARequestAloneIsRefused) {
  for (const std::string& request : GetParam().refused) {
    EXPECT_THAT(client_.Say(request), StartsWith(GetParam().error)) << request;
  }
}

TEST_P(RoomTest, AScriptIsRefusedBeforeItHasChangedAnything) {
  for (const std::string& request : GetParam().refused) {
    EXPECT_THAT(Script({request}), StartsWith(GetParam().error)) << request;
    EXPECT_THAT(Script({"GET k", "HGET h f", request}), StartsWith(GetParam().error)) << request;
    // A write that changes nothing does not open the door.
    EXPECT_THAT(Script({"DEL none", "SREM s none", "LTRIM l 0 -1", request}),
                StartsWith(GetParam().error))
        << request;
  }
}

TEST_P(RoomTest, AScriptThatHasChangedSomethingGoesOn) {
  for (const std::string& request : GetParam().refused) {
    EXPECT_THAT(Script({"PEXPIRE h 5000", request}), testing::Not(StartsWith("-"))) << request;
    // Nor is the next one, or the request of another client, let through.
    client_.Say("UNLOCK k a");
    client_.Say("MUNLOCK 2 k1 k2 a");
    client_.Say("DEL k k1 k2 f q");
    client_.Say("HDEL h g n");
    client_.Say("SREM s m2");
    client_.Say("ZREM z m2");
    EXPECT_THAT(Script({request}), StartsWith(GetParam().error)) << request;
  }
}

TEST_P(RoomTest, ATransactionIsRefusedAsAWhole) {
  for (const std::string& request : GetParam().refused) {
    client_.Say("MULTI");
    client_.Say("PING");
    client_.Say(request);
    client_.Say("PEXPIRE h 5000");
    EXPECT_THAT(client_.Say("EXEC"), StartsWith("-EXECABORT ")) << request;
    EXPECT_EQ(client_.Say("TTL h"), "-1") << request;
  }
}

// What follows a request that may free something is not refused, and so nothing is half done.
TEST_P(RoomTest, ATransactionIsNotRefusedInItsMiddle) {
  for (const std::string& request : GetParam().refused) {
    client_.Say("MULTI");
    client_.Say("SREM s none");
    client_.Say(request);
    const std::string reply = client_.Say("EXEC");
    if (!reply.starts_with("-EXECABORT ")) {
      EXPECT_THAT(reply, testing::Not(HasSubstr("-FULL")));
    }
    client_.Say("UNLOCK k a");
    client_.Say("DEL k f");
  }
}

// MSET is all or nothing, even if only one of its keys finds no room.
TEST_P(RoomTest, MSetWritesAllOrNothing) {
  client_.Say("LOCK m0 a");
  std::string request = "MSET m0 v";
  for (int i = 1; i <= 30; ++i) request += " m" + std::to_string(i) + " v";
  const bool is_done = client_.Say(request) == "OK";
  EXPECT_EQ(client_.Say("EXISTS m1 m15 m30"), is_done ? "3" : "0");
  // Once a script has changed something, there is room for all.
  EXPECT_EQ(Script({"UNLOCK m0 a", "PEXPIRE h 5000", request}), "OK");
  EXPECT_EQ(client_.Say("EXISTS m0 m1 m30"), "3");
}

// Those that are only read need no room.
TEST_P(RoomTest, ATransactionMayReadAFullValue) {
  if (GetParam().name != "elements of a value") return;
  for (const char* request : {"ZUNIONSTORE d 1 z", "ZINTERSTORE d 2 z s"}) {
    client_.Say("MULTI");
    client_.Say(request);
    EXPECT_EQ(client_.Say("EXEC"), "[1]") << request;
    client_.Say("DEL d");
  }
}

INSTANTIATE_TEST_SUITE_P(EachWant, RoomTest, testing::ValuesIn(Wants()), [](const auto& each) {
  std::string name = each.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace fairlock::command
