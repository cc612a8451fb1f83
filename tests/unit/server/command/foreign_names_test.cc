// Replies reveal nothing about locks that a user's patterns forbid. Each command of the table, with
// each of its options, is called in two worlds where others hold different sets of locks: these
// differ in their names or in their number. The replies must be the same, byte for byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_writer.h"
#include "server/command/handlers/command_families.h"
#include "server/command/table/command_syntax.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kUsers =
    "user root on >root ~* +@all\nuser u on >u ~mine:* &mine* owner:me-* +@all";

// What differs between worlds in the names, owners, labels and so on of other users.
struct Others {
  std::string word;
  std::string address;
  int count = 0;
};

class World {
 public:
  explicit World(const Others& others) : others_(others) {
    server_.SetUsers(kUsers);
    ShareKeys();
    for (int i = 0; i < others_.count; ++i) LockOthers(std::to_string(i));
    Operate();
    Align();
  }

  // Returns the replies to the user `u`, and the messages that the request causes for it.
  std::string Ask(const Words& request, std::string_view version) {
    TestClient& client = server_.Connect("10.0.0.1:1");
    client.Say("HELLO " + std::string(version) + " AUTH u u");
    const std::vector<std::string_view> views(request.begin(), request.end());
    std::string bytes;
    protocol::AppendRequest(bytes, views);
    return client.SendBytes(bytes);
  }

 private:
  // In every world, the next token and the next connection number are made the same.
  static constexpr engine::Token kTokens = 60;
  static constexpr std::uint64_t kConnections = 60;

  std::string Named(std::string_view rest) const { return others_.word + std::string(rest); }

  TestClient& Root() {
    TestClient& client = server_.Connect(others_.address + ":1");
    client.Say("AUTH root root");
    client.Say("CLIENT SETNAME " + Named("-client"));
    return client;
  }

  // Sets up the one key that the user may know, with a holder, a queue and a history. There is only
  // one, because others' locks make the table grow, so the order of two keys could differ.
  void ShareKeys() {
    TestClient& friendly = server_.Connect("10.0.0.2:1");
    friendly.Say("AUTH root root");
    friendly.Say("LOCK mine:1 friend PX 100000 LABEL shown");
    TestClient& second = server_.Connect("10.0.0.3:1");
    second.Say("AUTH root root");
    second.Say("LOCK mine:1 second WAIT 100s");
    // Prepares the circle me-1 -> friend -> another owner -> me-1, which LOCK mine:1 me-1 WAIT
    // would close.
    Root().Say("LOCK " + Named(":a") + " " + Named("-owner") + " PX 100000");
    Root().Say("LOCK " + Named(":b") + " me-1 PX 100000");
    Root().Say("LOCK " + Named(":a") + " friend WAIT 100s");
    Root().Say("LOCK " + Named(":b") + " " + Named("-owner") + " WAIT 100s");
  }

  void LockOthers(const std::string& number) {
    TestClient& root = Root();
    const std::string key = Named(":" + number);
    root.Say("LOCK " + key + " " + Named("-owner") + " PX 90000 LABEL " + Named("-label") +
             " META " + Named("-meta"));
    root.Say("SET " + Named(":set" + number) + " " + Named("-value") + " NX PX 90000");
    root.Say("MLOCK 2 " + Named(":m1") + number + " " + Named(":m2") + number + " " +
             Named("-owner"));
    root.Say("LOCK " + Named(":broken") + number + " " + Named("-owner"));
    root.Say("BREAK " + Named(":broken") + number + " REASON " + Named("-reason"));
    root.Say("LIMIT SET " + Named(":" + number + "*") + " 3 REASON " + Named("-reason"));
    root.Say("WATCH " + key);
    Root().Say("LOCK " + key + " " + Named("-waiter") + " WAIT 90s LABEL " + Named("-label"));
    Root().Say("WAIT " + key + " TIMEOUT 90s");
    TestClient& listener = Root();
    listener.Say("SUBSCRIBE " + Named("-channel" + number) + " __lock@0__:" + key);
    listener.Say("PSUBSCRIBE " + Named("-channel" + number + "*"));
  }

  void Operate() {
    TestClient& root = Root();
    root.Say("SELECT 3");
    root.Say("LOCK " + Named(":elsewhere") + " " + Named("-owner") + " PX 90000");
    server_.AdvanceBy(10);
  }

  void Align() {
    TestClient& root = Root();
    while (server_.parts().locks.engine().next_token() < first_token_ + kTokens) {
      root.Say("LOCK " + Named(":filling") + " o");
      root.Say("UNLOCK " + Named(":filling") + " o");
    }
    while (server_.Connect("10.0.0.9:1").id() < kConnections) continue;
  }

  const Others others_;
  TestServer server_;
  const engine::Token first_token_ = server_.parts().locks.engine().next_token();
};

std::string ValueOf(const SyntaxNode& node) {
  const std::string_view name = node.name;
  if (name == "key") return "mine:1";
  if (name.find("owner") != std::string_view::npos || name == "value") return "me-1";
  if (name == "channel") return "mine";
  if (name == "glob" || name == "pattern") return "*";
  if (name == "duration") return "10s";
  if (name == "section") return "everything";
  if (name == "script") return "return 1";
  return TypeOf(node) == "integer" ? "1" : std::string(name);
}

void AppendNode(const SyntaxNode& node, Words& words);

// `option` is the optional part to include.
void AppendParts(const Syntax& syntax, const SyntaxNode* option, Words& words) {
  for (const SyntaxNode& node : syntax) {
    if (!node.is_optional || &node == option) AppendNode(node, words);
  }
}

void AppendNode(const SyntaxNode& node, Words& words) {
  if (!node.token.empty()) words.emplace_back(node.token);
  switch (node.kind) {
    case SyntaxKind::kArgument:
      words.push_back(ValueOf(node));
      return;
    case SyntaxKind::kOneOf:
      AppendNode(node.parts.front(), words);
      return;
    case SyntaxKind::kBlock:
      AppendParts(node.parts, nullptr, words);
      return;
    case SyntaxKind::kToken:
      return;
  }
}

// Appends a command with its required arguments, once without options and once with each option.
void AppendRequests(const CommandSpec& spec, std::vector<Words>& requests) {
  const Syntax syntax = ParseSyntax(spec.syntax).value();
  std::vector<const SyntaxNode*> options = {nullptr};
  for (const SyntaxNode& node : syntax) {
    if (node.is_optional) options.push_back(&node);
  }
  for (const SyntaxNode* option : options) {
    const std::size_t bar = spec.name.find('|');
    Words words = {std::string(spec.name.substr(0, bar))};
    if (bar != std::string_view::npos) words.emplace_back(spec.name.substr(bar + 1));
    AppendParts(syntax, option, words);
    requests.push_back(std::move(words));
  }
}

std::vector<Words> AllRequests() {
  std::vector<Words> requests = {
      {"LOCKS", "0", "DB", "*", "COUNT", "1000"},
      {"LOCKS", "0", "DB", "3", "COUNT", "1000"},
      {"SCAN", "0", "COUNT", "1000"},
      {"MLOCK", "2", "mine:1", "mine:2", "me-1", "WAIT", "10s"},
      {"LOCK", "mine:1", "me-1", "WAIT", "10s", "EXPLAIN"},
      {"LOCK", "mine:2", "me-2", "EXPLAIN"},
      {"EVAL", "return redis.call('KEYS', '*')", "0"},
      {"EVAL", "return redis.call('LOCKS', '0', 'DB', '*', 'COUNT', '1000')", "0"},
      {"STATS", "BY", "MINUTE"},
      {"HISTORY", "*"},
      {"CLIENT", "KILL", "TYPE", "normal"},
      {"COMMAND", "GETKEYS", "LOCK", "mine:1", "me-1"},
  };
  const CommandTable table = WholeLanguage();
  for (const CommandSpec* spec : table.rows()) {
    if (spec->handler != nullptr) AppendRequests(*spec, requests);
  }
  return requests;
}

std::string TextOf(const Words& words) { return testing::PrintToString(words); }

// Whether the request walks over only some of the locks, so that its cursor depends on those
// examined.
bool IsPage(const Words& request) {
  const bool is_walk = request.front() == "SCAN" || request.front() == "LOCKS";
  return is_walk && std::ranges::find(request, "1000") == request.end();
}

// Whether the request returns totals without names, which monitoring needs.
bool IsTotal(const Words& request) {
  return request.front() == "INFO" || TextOf(request).find("NUMPAT") != std::string::npos;
}

TEST(ForeignNames, NoReplyShowsThem) {
  const Others others{.word = "secret", .address = "10.66.66.66", .count = 2};
  const Others renamed{.word = "hidden", .address = "10.77.77.77", .count = 2};
  int refused = 0;
  int answered = 0;
  for (const Words& request : AllRequests()) {
    const std::string reply = World(others).Ask(request, "2");
    EXPECT_EQ(reply.find(others.word), std::string::npos) << TextOf(request) << ": " << reply;
    EXPECT_EQ(reply.find(others.address), std::string::npos) << TextOf(request) << ": " << reply;
    ++(reply.starts_with("-NOPERM") ? refused : answered);
    if (!IsPage(request)) {
      EXPECT_EQ(reply, World(renamed).Ask(request, "2")) << TextOf(request);
    }
  }
  // The user has permission for most of these requests.
  EXPECT_GT(answered, 3 * refused);
}

TEST(ForeignNames, NoReplyCountsThem) {
  const Others few{.word = "secret", .address = "10.66.66.66", .count = 1};
  const Others many{.word = "secret", .address = "10.66.66.66", .count = 4};
  for (const Words& request : AllRequests()) {
    if (IsPage(request) || IsTotal(request)) continue;
    EXPECT_EQ(World(few).Ask(request, "3"), World(many).Ask(request, "3")) << TextOf(request);
  }
}

class NamedInReplies : public testing::Test {
 protected:
  void SetRules(const std::string& rules) {
    server_.SetUsers("user root on >root ~* +@all\n" + rules);
  }
  TestClient& As(const std::string& user) {
    TestClient& client = server_.Connect();
    client.Say("AUTH " + user + " " + user);
    return client;
  }

  TestServer server_;
};

TEST_F(NamedInReplies, ADeadlockNamesNoOwnersOfOthersKeys) {
  SetRules("user u on >u ~mine +@lock");
  As("root").Say("LOCK mine b");
  As("root").Say("LOCK other c");
  As("root").Say("LOCK another a");
  As("root").Say("LOCK other b WAIT 10s");
  As("root").Say("LOCK another c WAIT 10s");
  EXPECT_EQ(
      As("u").Say("LOCK mine a WAIT 10s"),
      "-DEADLOCK a waits for mine held by b, b waits for ? held by ?, ? waits for ? held by a");
  EXPECT_EQ(As("root").Say("LOCK mine a WAIT 10s"),
            "-DEADLOCK a waits for mine held by b, b waits for other held by c, "
            "c waits for another held by a");
}

TEST_F(NamedInReplies, SubscribersOfChannelsThatAUserMayNotHearAreNotCounted) {
  SetRules("user u on >u ~mine:* &news +@all");
  As("root").Say("SUBSCRIBE news secret __lock@0__:other __lock@0__:mine:1");
  EXPECT_EQ(As("u").Say("PUBSUB NUMSUB news secret __lock@0__:other __lock@0__:mine:1"),
            "[\"news\" 1 \"secret\" 0 \"__lock@0__:other\" 0 \"__lock@0__:mine:1\" 0]");
  EXPECT_EQ(As("root").Say("PUBSUB NUMSUB secret __lock@0__:other"),
            "[\"secret\" 1 \"__lock@0__:other\" 1]");
}

TEST_F(NamedInReplies, InfoListsOverridesOnlyToWhoMayReadAllKeys) {
  SetRules("user u on >u ~mine:* +@all");
  As("root").Say("LIMIT SET other:* 3");
  EXPECT_THAT(As("root").Say("INFO locks"), testing::HasSubstr("pattern='other:*'"));
  EXPECT_THAT(As("u").Say("INFO locks"), testing::AllOf(testing::HasSubstr("limit_overrides:1"),
                                                        testing::Not(testing::HasSubstr("other"))));
}

// Checks that the worlds do contain the locks: a user who may read all keys sees them.
TEST(ForeignNames, WhoMayReadAllKeysIsShownThem) {
  TestServer server;
  server.SetUsers(kUsers);
  TestClient& root = server.Connect();
  root.Say("AUTH root root");
  root.Say("LOCK secret:1 secret-owner LABEL secret-label");
  EXPECT_THAT(root.Say("STATS"), testing::HasSubstr("secret-label"));
  EXPECT_THAT(root.Say("KEYS *"), testing::HasSubstr("secret:1"));
  EXPECT_EQ(root.Say("DBSIZE"), "1");
}

}  // namespace
}  // namespace fairlock::command
