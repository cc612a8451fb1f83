// What each command may cost: the estimates, with the worst arguments of every command, and the
// bounds on requests and transactions that depend on them.
#include "server/command/handlers/command_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_writer.h"
#include "server/command/handlers/command_families.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/command_syntax.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

constexpr int kElements = 900;
constexpr int kHolders = 40;
constexpr std::size_t kErrorBytesMax = 1024;
// Small, so that few requests reach it.
constexpr std::uint64_t kReplyBytesMax = 1'000'000;

std::string BytesOf(const Words& words) {
  std::string bytes;
  protocol::AppendRequest(bytes, std::vector<std::string_view>(words.begin(), words.end()));
  return bytes;
}

Words Repeated(Words words, const Words& end, int times) {
  for (int i = 0; i < times; ++i) words.insert(words.end(), end.begin(), end.end());
  return words;
}

// The name of a key with as much as possible of what the commands of that group show.
std::string KeyOf(std::string_view group) {
  static const std::map<std::string_view, std::string> names = {
      {"hash", "h"}, {"list", "l"}, {"set", "s"}, {"sorted-set", "z"}, {"redis", "g"}};
  const auto found = names.find(group);
  return found == names.end() ? "k" : found->second;
}

using Requests = std::multimap<std::string_view, Words>;

// Arguments that cost more than the fewest possible, for the commands for small values and for
// numbers within owners.
const Requests& WorstValueRequests() {
  static const Requests requests = {
      {"HSET", {"HSET", "h", "f0", "new"}},
      {"HMGET", Repeated({"HMGET", "h"}, {"f0"}, 500)},
      {"HSCAN", {"HSCAN", "h", "0", "COUNT", "1000"}},
      {"LRANGE", {"LRANGE", "l", "0", "-1"}},
      {"LPOP", {"LPOP", "l", "900"}},
      {"RPOP", {"RPOP", "l", "900"}},
      {"LPOS", {"LPOS", "l", "same", "COUNT", "0"}},
      {"LMOVE", {"LMOVE", "l", "l", "LEFT", "RIGHT"}},
      {"RPOPLPUSH", {"RPOPLPUSH", "l", "l"}},
      {"BLPOP", {"BLPOP", "l", "1"}},
      {"SPOP", {"SPOP", "s", "900"}},
      {"SRANDMEMBER", {"SRANDMEMBER", "s", "900"}},
      {"SRANDMEMBER", {"SRANDMEMBER", "s", "-9000"}},
      {"SMISMEMBER", Repeated({"SMISMEMBER", "s"}, {"m"}, 500)},
      {"ZMSCORE", Repeated({"ZMSCORE", "z"}, {"0" + std::string(40, 'm')}, 500)},
      {"ZINTERSTORE", {"ZINTERSTORE", "new", "3", "z", "s", "z"}},
      {"ZUNIONSTORE", {"ZUNIONSTORE", "new", "2", "z", "s"}},
      {"ZPOPMAX", {"ZPOPMAX", "z", "900"}},
      {"BITFIELD", Repeated({"BITFIELD", "g"}, {"GET", "i64", "0"}, 300)},
      {"BITFIELD", Repeated({"BITFIELD", "g"}, {"INCRBY", "i64", "0", "1"}, 300)},
      {"BITFIELD_RO", Repeated({"BITFIELD_RO", "g"}, {"GET", "u63", "8"}, 300)},
      {"INCRBYFLOAT", {"INCRBYFLOAT", "free", "1e4931"}},
      {"HINCRBYFLOAT", {"HINCRBYFLOAT", "h", "new", "1e4931"}},
      {"MSET", Repeated({"MSET"}, {"key", "owner"}, 300)},
      {"LSET", {"LSET", "l", "450", "x"}},
      {"LINSERT", {"LINSERT", "l", "AFTER", "450" + std::string(40, 'm'), "x"}},
      {"LTRIM", {"LTRIM", "l", "800", "850"}},
      {"SSCAN", {"SSCAN", "s", "0", "COUNT", "1000"}},
      {"ZRANGE", {"ZRANGE", "z", "0", "-1", "WITHSCORES"}},
      {"ZREVRANGE", {"ZREVRANGE", "z", "0", "-1", "WITHSCORES"}},
      {"ZRANGEBYSCORE", {"ZRANGEBYSCORE", "z", "-inf", "+inf", "WITHSCORES"}},
      {"ZREVRANGEBYSCORE", {"ZREVRANGEBYSCORE", "z", "+inf", "-inf", "WITHSCORES"}},
      {"ZPOPMIN", {"ZPOPMIN", "z", "900"}},
  };
  return requests;
}

// The same for the other commands.
const Requests& WorstOtherRequests() {
  static const Requests requests = {
      {"LOCK", {"LOCK", "k", "me", "EXPLAIN"}},
      {"MLOCK", {"MLOCK", "2", "k", "free", "me", "EXPLAIN"}},
      {"QUEUE", {"QUEUE", "k", "COUNT", "10000"}},
      {"QUEUE", {"QUEUE", "k", "START", "10", "COUNT", "10000"}},
      {"LOCKS", {"LOCKS", "0", "COUNT", "100000"}},
      {"HISTORY", {"HISTORY", "k", "COUNT", "10000"}},
      {"HISTORY", {"HISTORY", "*", "COUNT", "10000"}},
      {"STATS", {"STATS", "MINUTES", "1440", "BY", "MINUTE"}},
      {"GETRANGE", {"GETRANGE", "g", "0", "-1"}},
      {"SET", {"SET", "g", "x", "GET"}},
      {"MGET", Repeated({"MGET"}, {"g"}, 500)},
      {"DEL", Repeated({"DEL"}, {"h"}, 500)},
      {"SCAN", {"SCAN", "0", "COUNT", "100000"}},
      {"SCRIPT|EXISTS", Repeated({"SCRIPT", "EXISTS"}, {std::string(40, 'a')}, 500)},
      {"SUBSCRIBE", Repeated({"SUBSCRIBE"}, {std::string(500, 'c')}, 100)},
      {"UNSUBSCRIBE", Repeated({"UNSUBSCRIBE"}, {std::string(500, 'c')}, 100)},
      {"PUBSUB|NUMSUB", Repeated({"PUBSUB", "NUMSUB"}, {std::string(500, 'c')}, 100)},
      {"PUBSUB|SHARDNUMSUB", Repeated({"PUBSUB", "SHARDNUMSUB"}, {std::string(500, 'c')}, 100)},
      {"PING", {"PING", std::string(20'000, 'p')}},
      {"ECHO", {"ECHO", std::string(20'000, 'p')}},
      {"CLIENT|LIST", {"CLIENT", "LIST", "ID", "1", "1", "1", "1", "1", "1", "1"}},
      {"INFO", {"INFO", "everything"}},
      {"CONFIG|GET", {"CONFIG", "GET", "*"}},
      {"COMMAND|INFO", Repeated({"COMMAND", "INFO"}, {"client"}, 300)},
      {"COMMAND|DOCS", Repeated({"COMMAND", "DOCS"}, {"client"}, 300)},
      {"COMMAND|GETKEYS", Repeated({"COMMAND", "GETKEYS", "MGET"}, {"some-key"}, 500)},
      {"COMMAND|GETKEYSANDFLAGS",
       Repeated({"COMMAND", "GETKEYSANDFLAGS", "MGET"}, {"some-key"}, 500)},
  };
  return requests;
}

void AppendFewest(const Syntax& syntax, const std::string& key, Words& words) {
  for (const SyntaxNode& node : syntax) {
    if (node.is_optional) continue;
    if (!node.token.empty()) words.emplace_back(node.token);
    if (node.kind == SyntaxKind::kArgument) {
      const bool is_key = node.name == "key" || node.name == "source";
      words.emplace_back(is_key ? key : TypeOf(node) == "integer" ? "1" : std::string(node.name));
    } else if (node.kind == SyntaxKind::kBlock) {
      AppendFewest(node.parts, key, words);
    } else if (node.kind == SyntaxKind::kOneOf) {
      AppendFewest({node.parts.front()}, key, words);
    }
  }
}

std::vector<Words> RequestsOf(const CommandSpec& spec) {
  Words fewest;
  const std::size_t bar = spec.name.find('|');
  fewest.emplace_back(spec.name.substr(0, bar));
  if (bar != std::string_view::npos) fewest.emplace_back(spec.name.substr(bar + 1));
  AppendFewest(ParseSyntax(spec.syntax).value(), KeyOf(spec.group), fewest);
  std::vector<Words> requests = {fewest};
  for (const Requests* worst : {&WorstValueRequests(), &WorstOtherRequests()}) {
    const auto [first, last] = worst->equal_range(spec.name);
    for (auto each = first; each != last; ++each) requests.push_back(each->second);
  }
  return requests;
}

// A server on which every command has much to show.
class FullServer {
 public:
  FullServer() {
    Fill("HSET", "h", "f", true);
    Fill("RPUSH", "l", "", false);
    Fill("SADD", "s", "", false);
    Words scores = {"ZADD", "z"};
    for (int i = 0; i < kElements; ++i) {
      scores.insert(scores.end(), {std::to_string(i) + ".123456789", Member(i)});
    }
    Send(scores);
    Send({"SET", "g", std::string(8000, 'o'), "NX"});
    for (int i = 0; i < kHolders; ++i) {
      Send({"LOCK", "k", std::to_string(i) + std::string(4000, 'o'), "SHARED", "META",
            std::string(4000, 'm')});
    }
    for (int i = 0; i < kHolders; ++i) {
      Send({"LOCK", "k", std::to_string(i) + std::string(4000, 'w'), "KEEP", "60s", "META",
            std::string(4000, 'm')});
    }
    for (int i = 0; i < 300; ++i) Send({"LOCK", "k" + std::to_string(i), std::string(300, 'o')});
    for (int i = 0; i < 50; ++i) server_.Connect().Say("CLIENT SETNAME " + std::string(200, 'n'));
    server_.Connect().Say("SUBSCRIBE news");
  }

  TestServer& server() { return server_; }
  TestClient& client() { return client_; }
  std::string Send(const Words& words) { return client_.SendBytes(BytesOf(words)); }

 private:
  static std::string Member(int i) { return std::to_string(i) + std::string(40, 'm'); }
  void Fill(const std::string& command, const std::string& key, const std::string& prefix,
            bool has_values) {
    Words words = {command, key};
    for (int i = 0; i < kElements; ++i) {
      words.push_back(has_values ? prefix + std::to_string(i) : Member(i));
      if (has_values) words.push_back(std::string(40, 'v'));
    }
    Send(words);
  }

  TestServer server_;
  TestClient& client_ = server_.Connect();
};

std::string Shown(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word.substr(0, 20) + " ";
  return text.substr(0, 100) + "of " + std::to_string(words.size());
}

// Commands that a transaction does not take, or that end the connection or the transaction.
bool IsQueued(const CommandSpec& spec) {
  return spec.handler != nullptr && (spec.flags & (kNotQueued | kNoMulti)) == 0 &&
         spec.name != "QUIT" && spec.name != "RESET" && spec.name != "SHUTDOWN" &&
         spec.name != "MONITOR" && spec.name != "HELLO" && spec.name != "AUTH" &&
         spec.name != "CLIENT|KILL";
}

TEST(CommandCosts, EachRowIsThatOfACommand) {
  TestServer server;
  std::set<std::string_view> seen;
  for (const CostRow& row : CostRows()) {
    EXPECT_NE(server.parts().table.Find(row.command), nullptr) << row.command;
    EXPECT_TRUE(seen.insert(row.command).second) << row.command;
  }
}

TEST(CommandCosts, NoReplyIsMuchLongerThanEstimated) {
  const CommandTable table = WholeLanguage();
  std::unique_ptr<FullServer> full;
  for (const CommandSpec* spec : table.rows()) {
    if (!IsQueued(*spec)) continue;
    for (const Words& words : RequestsOf(*spec)) {
      if (full == nullptr || (spec->flags & (kWrite | kPubsub)) != 0) {
        full = std::make_unique<FullServer>();
      }
      protocol::Arguments arguments;
      for (const std::string& word : words) arguments.Add(word);
      ServerParts& parts = full->server().parts();
      const CommandSpec& row = *parts.table.Find(spec->name);
      const Cost cost =
          CostOf(row, {parts, full->client().client(), arguments, 0, full->server().now()});
      full->client().Say("MULTI");
      full->Send(words);
      const std::string reply = full->Send({"EXEC"});
      EXPECT_LE(reply.size(),
                std::max<std::uint64_t>(kErrorBytesMax, Cost::kUnderestimate * cost.reply_bytes))
          << Shown(words);
      EXPECT_GT(cost.work, 0U) << Shown(words);
    }
  }
}

TEST(CommandCosts, NoTransactionHasMuchLongerRepliesThanTheBound) {
  const CommandTable table = WholeLanguage();
  int refused = 0;
  for (const CommandSpec* spec : table.rows()) {
    if (!IsQueued(*spec) || IsSmall(*spec)) continue;
    FullServer full;
    full.server().parts().transactions.set_limits({.reply_bytes_max = kReplyBytesMax});
    const Words words = RequestsOf(*spec).back();
    std::string requests = BytesOf({"MULTI"});
    constexpr int kTimes = 400;
    for (int i = 0; i < kTimes; ++i) requests += BytesOf(words);
    full.client().SendBytes(requests);
    const std::string reply = full.Send({"EXEC"});
    if (reply.starts_with("-EXECABORT Transaction discarded because of: FULL")) {
      ++refused;
      continue;
    }
    EXPECT_LE(reply.size(), Cost::kUnderestimate * kReplyBytesMax) << Shown(words);
  }
  EXPECT_GT(refused, 40);
}

class CostBounds : public testing::Test {
 protected:
  void Transact(const Words& words, int times) {
    client_.Say("MULTI");
    for (int i = 0; i < times; ++i) client_.SendBytes(BytesOf(words));
  }

  TestServer server_;
  TestClient& client_ = server_.Connect();
};

TEST_F(CostBounds, AnOrdinaryTransactionIsExecuted) {
  for (const Words& words :
       {Words{"HGETALL", "h"}, Words{"INFO"}, Words{"QUEUE", "k"}, Words{"LOCKINFO", "k"},
        Words{"HISTORY", "k"}, Words{"LOCK", "k", "me"}, Words{"GET", "k"}, Words{"LOCKS", "0"}}) {
    Transact(words, 12);
    EXPECT_THAT(client_.Say("EXEC"), StartsWith("[")) << words[0];
  }
}

TEST_F(CostBounds, AsManySmallRequestsAsMayBeQueuedAreExecuted) {
  Transact({"LOCK", "k", "me", "PX", "30000", "META", "m"}, 10'000);
  EXPECT_THAT(client_.Say("EXEC"), StartsWith("["));
}

TEST_F(CostBounds, ARefusedTransactionHasNoEffect) {
  for (int i = 0; i < 50; ++i) {
    client_.SendBytes(BytesOf({"LOCK", "k", std::to_string(i) + std::string(8000, 'o'), "KEEP",
                               "60s", "META", std::string(4096, 'm')}));
  }
  client_.Say("MULTI");
  client_.Say("LOCK other me");
  for (int i = 0; i < 500; ++i) client_.Say("QUEUE k COUNT 1000");
  EXPECT_EQ(client_.Say("EXEC"),
            "-EXECABORT Transaction discarded because of: FULL the reply would have more than "
            "16777216 bytes (output_limit); ask for less at once");
  EXPECT_EQ(client_.Say("LOCKED other"), "0");
}

TEST_F(CostBounds, WhatEarlierRequestsAddCounts) {
  Transact({"LOCK", "g", std::string(8000, 'o')}, 1);
  for (int i = 0; i < 9000; ++i) client_.Say("GET g");
  EXPECT_THAT(client_.Say("EXEC"), StartsWith("-EXECABORT"));
}

// The estimate does not follow an element from one list to another.
TEST_F(CostBounds, MovedElementsAreNotShownEndlessly) {
  server_.parts().transactions.set_limits({.reply_bytes_max = kReplyBytesMax});
  client_.SendBytes(BytesOf({"RPUSH", "from", std::string(60'000, 'e')}));
  Transact({"LMOVE", "from", "to", "LEFT", "LEFT"}, 1);
  for (int i = 0; i < 400; ++i) client_.Say("LINDEX to 0");
  const std::string reply = client_.Say("EXEC");
  EXPECT_LE(reply.size(), 2 * kReplyBytesMax);
  EXPECT_THAT(reply, HasSubstr("-FULL the reply would have more than 1000000 bytes"));
}

TEST_F(CostBounds, ALongReplyIsRefusedOutsideATransactionToo) {
  server_.parts().transactions.set_limits({.reply_bytes_max = kReplyBytesMax});
  client_.SendBytes(BytesOf({"SET", "g", std::string(8000, 'o'), "NX"}));
  client_.SendBytes(BytesOf({"HSET", "h", "f", std::string(8000, 'o')}));
  for (const Words& words : {Repeated({"MGET"}, {"g"}, 200), Repeated({"HMGET", "h"}, {"f"}, 200),
                             Repeated({"COMMAND", "DOCS"}, {"client"}, 200)}) {
    EXPECT_THAT(client_.SendBytes(BytesOf(words)),
                StartsWith("-FULL the reply would have more than 1000000 bytes"));
  }
  EXPECT_THAT(client_.SendBytes(BytesOf(Repeated({"MGET"}, {"g"}, 50))), StartsWith("*50"));
}

TEST_F(CostBounds, MemoryThatRepliesWouldTakeCounts) {
  for (int i = 0; i < 50; ++i) {
    client_.SendBytes(BytesOf({"LOCK", "k", std::to_string(i) + std::string(8000, 'o'), "KEEP",
                               "60s", "META", std::string(4096, 'm')}));
  }
  server_.environment().memory_in_use = 99'000'000;
  server_.parts().availability.BoundMemory(100'000'000, server_.now());
  Transact({"QUEUE", "k"}, 1);
  EXPECT_THAT(client_.Say("EXEC"), StartsWith("["));
  Transact({"QUEUE", "k"}, 5);
  EXPECT_THAT(client_.Say("EXEC"), StartsWith("-EXECABORT Transaction discarded because of: OOM"));
  Transact({"RENEW", "k", "0", "1000"}, 500);
  EXPECT_THAT(client_.Say("EXEC"), StartsWith("["));
}

TEST_F(CostBounds, WorkIsChargedToTheServersMeter) {
  const std::uint64_t before = server_.parts().work.total();
  Transact({"INFO"}, 20);
  client_.Say("EXEC");
  EXPECT_GE(server_.parts().work.total() - before, 20U * 200'000U);
}

}  // namespace
}  // namespace fairlock::command
