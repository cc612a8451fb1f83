// Calls every command in every possible way, as users with different permissions. All ways must
// agree with the command table and with ACL DRYRUN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "protocol/request_writer.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/command_syntax.h"
#include "server/command/table/text.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using Words = std::vector<std::string>;

// A request, and the names in it.
struct Asked {
  const CommandSpec* spec = nullptr;
  Words words = {};
  Words keys = {};
  Words owners = {};
  Words channels = {};
  bool is_set_new = false;
};

struct Person {
  std::string_view name;
  std::string_view rules;  // empty if the user is not in the file, and the client does not log in
  std::function<bool(const CommandSpec&, bool is_set_new)> may_run;
  std::string_view keys = "*";
  std::string_view owners = "*";
  std::string_view channels = "*";
};

bool IsIn(const CommandSpec& spec, std::string_view category) {
  const auto categories = CategoriesOf(spec);
  return std::ranges::find(categories, category) != categories.end();
}

bool MayAll(const CommandSpec&, bool) { return true; }

// Every user may call EVAL and MULTI; otherwise, these ways of calling could not be compared.
bool IsWay(const CommandSpec& spec) { return spec.name == "EVAL" || IsIn(spec, "transaction"); }

constexpr std::string_view kWays = " +eval +@transaction";

const std::vector<Person>& People() {
  static const std::vector<Person> people = {
      {"nobody", "", [](const CommandSpec&, bool) { return false; }},
      {"reader", "~* +@read +@connection",
       [](const CommandSpec& spec, bool) {
         return IsIn(spec, "read") || IsIn(spec, "connection") || IsWay(spec);
       }},
      {"locker", "~jobs:* &c* +@lock",
       [](const CommandSpec& spec, bool) { return IsIn(spec, "lock") || IsWay(spec); }, "jobs:*",
       "*", "c*"},
      {"owned", "~* owner:me-* &c +@all", MayAll, "*", "me-*", "c"},
      {"admin", "~* +@all", MayAll},
      {"careful", "~* +@all -@unowned",
       [](const CommandSpec& spec, bool is_set_new) {
         return !IsIn(spec, "unowned") || is_set_new;
       }},
      {"keyed", "~jobs:* +@all", MayAll, "jobs:*"},
      {"narrow", "~jobs:* owner:me-* &c -@all +@all -@dangerous",
       [](const CommandSpec& spec, bool) { return !IsIn(spec, "dangerous") || IsWay(spec); },
       "jobs:*", "me-*", "c"},
  };
  return people;
}

constexpr auto kOfAllKeys = std::to_array<std::string_view>(
    {"FLUSHDB", "FLUSHALL", "LIMIT|SET", "LIMIT|DEL", "LIMIT|LIST", "MONITOR", "CLIENT|LIST",
     "CLIENT|KILL", "CLIENT|UNBLOCK", "STATS", "DBSIZE", "BACKUP", "SHUTDOWN", "CLUSTER|FAILOVER",
     "CLUSTER|ACCEPT-RESTORE"});
// Commands that need permission for any owner, because they compute the owner's name.
constexpr auto kNameAnyOwner = std::to_array<std::string_view>(
    {"INCR", "DECR", "INCRBY", "DECRBY", "INCRBYFLOAT", "BITFIELD"});

template <typename Names>
bool IsOneOf(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Determines the names in a request from the words of its syntax rather than from the positions
// that the server uses.
void AppendArgument(std::string_view name, std::size_t variant, Asked& asked) {
  const bool is_allowed = variant % 2 == 0;
  // In other groups, a value is not the owner of a lock.
  const bool is_owner =
      name == "owner" || name == "new-owner" || (name == "value" && asked.spec->group == "redis");
  if (name == "key" || name == "source" || name == "destination") {
    asked.words.emplace_back(variant % 2 == 0 ? "jobs:1" : "other");
    asked.keys.push_back(asked.words.back());
  } else if (is_owner) {
    asked.words.emplace_back(variant / 2 % 2 == 0 ? "me-1" : "you-1");
    // A request that only asks about an owner does not act as that owner.
    if ((asked.spec->flags & kWrite) != 0) asked.owners.push_back(asked.words.back());
  } else if (name == "channel" || name == "shardchannel") {
    asked.words.emplace_back(is_allowed ? "c" : "d");
    asked.channels.push_back(asked.words.back());
  } else if (name == "pattern" && asked.spec->name == "PSUBSCRIBE") {
    asked.words.emplace_back(is_allowed ? "c" : "d*");
    asked.channels.push_back(asked.words.back());
  } else {
    asked.words.emplace_back(name);
  }
}

void AppendFewest(const Syntax& syntax, std::size_t variant, Asked& asked) {
  for (const SyntaxNode& node : syntax) {
    if (node.is_optional) continue;
    if (!node.token.empty()) asked.words.emplace_back(node.token);
    if (node.kind == SyntaxKind::kArgument) {
      AppendArgument(TypeOf(node) == "integer" ? "1" : node.name, variant, asked);
    } else if (node.kind == SyntaxKind::kBlock) {
      AppendFewest(node.parts, variant, asked);
    } else if (node.kind == SyntaxKind::kOneOf) {
      AppendFewest({node.parts.front()}, variant, asked);
    }
  }
}

void NoteWhatTheNameSays(Asked& asked) {
  if (IsOneOf(kOfAllKeys, asked.spec->name)) asked.keys.emplace_back("*");
  if (IsOneOf(kNameAnyOwner, asked.spec->name)) asked.owners.emplace_back("*");
}

Asked AskFewest(const CommandSpec& spec, std::size_t variant) {
  Asked asked{.spec = &spec};
  const std::size_t bar = spec.name.find('|');
  asked.words.emplace_back(spec.name.substr(0, bar));
  if (bar != std::string_view::npos) asked.words.emplace_back(spec.name.substr(bar + 1));
  AppendFewest(ParseSyntax(spec.syntax).value(), variant, asked);
  NoteWhatTheNameSays(asked);
  return asked;
}

struct Special {
  std::string_view command;
  Words words;
  Words keys;
  Words owners;
  Words channels = {};
  bool is_set_new = false;
};

// Requests whose permissions depend on their options or on repeated arguments.
const std::vector<Special>& Specials() {
  static const std::vector<Special> specials = {
      {"SET", {"SET", "jobs:1", "me-1", "NX"}, {"jobs:1"}, {"me-1"}, {}, true},
      {"SET", {"SET", "jobs:1", "you-1", "PX", "5", "nx"}, {"jobs:1"}, {"you-1"}, {}, true},
      {"SET", {"SET", "jobs:1", "NX"}, {"jobs:1"}, {"NX"}},
      {"SET", {"SET", "jobs:1", "me-1", "EX", "NX"}, {"jobs:1"}, {"me-1"}},
      {"LOCK", {"LOCK", "jobs:1", "me-1", "NOTIFY", "c"}, {"jobs:1"}, {"me-1"}, {"c"}},
      {"LOCK",
       {"LOCK", "jobs:1", "me-1", "META", "NOTIFY", "NOTIFY", "d"},
       {"jobs:1"},
       {"me-1"},
       {"d"}},
      {"LOCK", {"LOCK", "jobs:1", "me-1", "META", "NOTIFY", "LABEL", "d"}, {"jobs:1"}, {"me-1"}},
      {"TRANSFER", {"TRANSFER", "jobs:1", "me-1", "you-1"}, {"jobs:1"}, {"me-1", "you-1"}},
      {"TRANSFER", {"TRANSFER", "jobs:1", "you-1", "me-1"}, {"jobs:1"}, {"you-1", "me-1"}},
      {"MLOCK", {"MLOCK", "2", "jobs:1", "other", "me-1"}, {"jobs:1", "other"}, {"me-1"}},
      {"MLOCK", {"MLOCK", "2", "jobs:1", "jobs:2", "you-1"}, {"jobs:1", "jobs:2"}, {"you-1"}},
      {"MLOCK",
       {"MLOCK", "2", "jobs:1", "jobs:2", "me-1", "NOTIFY", "d"},
       {"jobs:1", "jobs:2"},
       {"me-1"},
       {"d"}},
      {"MUNLOCK", {"MUNLOCK", "2", "jobs:1", "other", "me-1"}, {"jobs:1", "other"}, {"me-1"}},
      {"MSETNX",
       {"MSETNX", "jobs:1", "me-1", "jobs:2", "you-1"},
       {"jobs:1", "jobs:2"},
       {"me-1", "you-1"}},
      {"MSETNX",
       {"MSETNX", "jobs:1", "me-1", "other", "me-1"},
       {"jobs:1", "other"},
       {"me-1", "me-1"}},
      {"MSET",
       {"MSET", "jobs:1", "me-1", "jobs:2", "you-1"},
       {"jobs:1", "jobs:2"},
       {"me-1", "you-1"}},
      {"MSET", {"MSET", "jobs:1", "me-1", "other", "me-1"}, {"jobs:1", "other"}, {"me-1", "me-1"}},
      {"MSETEX",
       {"MSETEX", "2", "jobs:1", "me-1", "other", "you-1"},
       {"jobs:1", "other"},
       {"me-1", "you-1"}},
      {"ZINTERSTORE",
       {"ZINTERSTORE", "jobs:1", "2", "jobs:2", "other"},
       {"jobs:1", "jobs:2", "other"},
       {}},
      {"ZUNIONSTORE",
       {"ZUNIONSTORE", "jobs:1", "1", "jobs:2", "AGGREGATE", "SUM"},
       {"jobs:1", "jobs:2"},
       {}},
      {"DEL", {"DEL", "jobs:1", "other"}, {"jobs:1", "other"}, {}},
      {"MGET", {"MGET", "jobs:1", "other"}, {"jobs:1", "other"}, {}},
      {"WATCH", {"WATCH", "jobs:1", "other"}, {"jobs:1", "other"}, {}},
      {"HISTORY", {"HISTORY", "*"}, {"*"}, {}},
      {"BREAK", {"BREAK", "jobs:1", "you-1"}, {"jobs:1"}, {}},
      {"EVAL", {"EVAL", "return 1", "2", "jobs:1", "other"}, {"jobs:1", "other"}, {}},
      {"EVAL", {"EVAL", "return 1", "1", "jobs:1", "other"}, {"jobs:1"}, {}},
      {"SUBSCRIBE", {"SUBSCRIBE", "c", "d"}, {}, {}, {"c", "d"}},
  };
  return specials;
}

std::vector<Asked> AllRequests(const CommandTable& table) {
  std::vector<Asked> all;
  for (const CommandSpec* spec : table.rows()) {
    if (spec->handler == nullptr) continue;
    std::vector<Words> seen;
    for (std::size_t variant = 0; variant < 4; ++variant) {
      Asked asked = AskFewest(*spec, variant);
      if (std::ranges::find(seen, asked.words) != seen.end()) continue;
      seen.push_back(asked.words);
      all.push_back(std::move(asked));
    }
  }
  for (const Special& row : Specials()) {
    all.push_back(
        {table.Find(row.command), row.words, row.keys, row.owners, row.channels, row.is_set_new});
  }
  return all;
}

bool MatchAll(std::string_view glob, const Words& names) {
  return std::ranges::all_of(names, [&](const std::string& name) {
    // "*" stands for all keys or any owner, which no narrower glob can allow.
    return glob == "*" || (name != "*" && MatchesGlob(glob, name));
  });
}

bool IsExpected(const Person& person, const Asked& asked) {
  // HELLO without AUTH does not log in.
  if (person.rules.empty() && asked.spec->name == "HELLO") return false;
  if ((asked.spec->flags & kNoAuth) != 0) return true;
  // A user may subscribe to a glob only if the same glob is among the user's rules.
  const bool hears =
      asked.spec->name == "PSUBSCRIBE"
          ? person.channels == "*" || asked.channels == Words{std::string(person.channels)}
          : MatchAll(person.channels, asked.channels);
  return person.may_run(*asked.spec, asked.is_set_new) && MatchAll(person.keys, asked.keys) &&
         MatchAll(person.owners, asked.owners) && hears;
}

std::string Bytes(const Words& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string request;
  protocol::AppendRequest(request, views);
  return request;
}

// Returns the permission error at the start of a raw reply, without its sign; empty if there is
// none.
std::string DenialIn(std::string_view reply) {
  const bool is_denied = reply.starts_with("-NOPERM ") || reply.starts_with("-NOAUTH ");
  return is_denied ? std::string(reply.substr(1, reply.find('\r') - 1)) : "";
}

class PermissionMatrix : public testing::Test {
 protected:
  std::string File(const Person& person, std::string_view rules) const {
    std::string text = "user root on >root ~* +@all\n";
    if (!rules.empty()) {
      text.append("user ").append(person.name).append(" on >pw ").append(rules);
      if (rules.find("+@all") == std::string_view::npos ||
          rules.find("-@dangerous") != std::string_view::npos) {
        text += kWays;
      }
    }
    return text;
  }

  TestClient& Connect(const Person& person, std::string_view version = "2") {
    TestClient& client = server_.Connect();
    if (!person.rules.empty()) {
      client.Send("HELLO " + std::string(version) + " AUTH " + std::string(person.name) + " pw");
    }
    return client;
  }

  // Each way of calling returns its permission error; empty if the request is permitted.
  std::string Directly(const Person& person, const Words& words, std::string_view version) {
    return Finish(Connect(person, version), Bytes(words));
  }

  std::string InScript(const Person& person, const Words& words) {
    Words request = {"EVAL", "return redis.pcall(unpack(ARGV))", "0"};
    request.insert(request.end(), words.begin(), words.end());
    return Finish(Connect(person), Bytes(request));
  }

  std::string BehindMulti(const Person& person, const Words& words) {
    TestClient& client = Connect(person);
    client.Send("MULTI");
    const std::string reply = client.SendBytes(Bytes(words));
    const std::string denial = DenialIn(reply);
    if (!client.is_closed() && !person.rules.empty()) {
      const std::string end = client.Send("EXEC");
      EXPECT_TRUE(denial.empty() || end.starts_with("-EXECABORT")) << end;
    }
    Close(client);
    return denial;
  }

  // The request is permitted when it is queued, but no longer when EXEC runs.
  std::string AtExec(const Person& person, const Words& words) {
    server_.SetUsers(File(person, "~* +@all"));
    TestClient& client = Connect(person);
    client.Send("MULTI");
    EXPECT_EQ(client.SendBytes(Bytes(words)), "+QUEUED\r\n");
    server_.SetUsers(File(person, person.rules));
    std::string reply = client.Send("EXEC");
    EXPECT_TRUE(reply.starts_with("*1\r\n")) << reply;
    reply.erase(0, 4);
    Close(client);
    return DenialIn(reply);
  }

  std::string DryRun(const Person& person, const Words& words) {
    Words request = {"ACL", "DRYRUN", std::string(person.name)};
    request.insert(request.end(), words.begin(), words.end());
    TestClient& root = server_.Connect();
    root.Say("AUTH root root");
    const std::string reply = root.SendBytes(Bytes(request));
    Close(root);
    if (reply == "+OK\r\n") return "";
    EXPECT_EQ(reply.front(), '$') << reply;
    const std::size_t begin = reply.find('\n') + 1;
    return "NOPERM " + reply.substr(begin, reply.size() - 2 - begin);
  }

  void Compare(const Person& person, const Asked& asked) {
    const bool is_expected = IsExpected(person, asked);
    const bool is_person = !person.rules.empty();
    const bool is_queued = (asked.spec->flags & (kNotQueued | kNoMulti)) == 0;
    Words lowered = asked.words;
    lowered.front() = Lowered(lowered.front());
    std::vector<std::string> answers = {
        Directly(person, asked.words, "2"), Directly(person, asked.words, "3"),
        Directly(person, lowered, "2"), BehindMulti(person, asked.words)};
    // A client that has not logged in cannot run a script.
    const bool reaches_script = is_person || (asked.spec->flags & kNoAuth) == 0;
    if (reaches_script) answers.push_back(InScript(person, asked.words));
    if (is_person) answers.push_back(DryRun(person, asked.words));
    if (is_person && is_queued) answers.push_back(AtExec(person, asked.words));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      ++cells_;
      EXPECT_EQ(answers[i].empty(), is_expected)
          << person.name << ", way " << i << ": " << testing::PrintToString(asked.words) << ": "
          << answers[i];
      EXPECT_EQ(answers[i], answers[0]) << person.name << ", way " << i;
    }
  }

  TestServer server_;
  std::size_t cells_ = 0;
  std::size_t requests_ = 0;

 private:
  static void Close(TestClient& client) {
    if (!client.is_closed()) client.Close();
  }

  static std::string Finish(TestClient& client, const std::string& request) {
    std::string denial = DenialIn(client.SendBytes(request));
    Close(client);
    return denial;
  }
};

TEST_F(PermissionMatrix, AllWaysOfCallingAgree) {
  const auto requests = AllRequests(server_.parts().table);
  for (const Person& person : People()) {
    server_.SetUsers(File(person, person.rules));
    for (const Asked& asked : requests) Compare(person, asked);
  }
  RecordProperty("requests", static_cast<int>(requests.size()));
  RecordProperty("cells", static_cast<int>(cells_));
  std::printf("%zu requests, %zu users, %zu cells\n", requests.size(), People().size(), cells_);
  EXPECT_GT(cells_, requests.size() * People().size() * 5);
}

TEST_F(PermissionMatrix, WithoutUsersNothingIsDenied) {
  for (const Asked& asked : AllRequests(server_.parts().table)) {
    TestClient& client = server_.Connect();
    EXPECT_EQ(DenialIn(client.SendBytes(Bytes(asked.words))), "");
    if (!client.is_closed()) client.Close();
  }
}

}  // namespace
}  // namespace fairlock::command
