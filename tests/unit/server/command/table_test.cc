// Tests what must be true of every row in the command table.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "protocol/request_writer.h"
#include "server/command/handlers/command_families.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/command_syntax.h"
#include "server/command/table/command_table.h"
#include "server/command/table/text.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

// This command ignores all arguments, as it does in Redis.
constexpr std::string_view kIgnoresArguments = "QUIT";
// Redis has a command of the same name with two numbers, which the syntax here does not describe.
constexpr std::string_view kHasForeignForm = "WAIT";

using Words = std::vector<std::string>;

// Returns the name as the words of a request, such as "CLIENT", "LIST".
Words NameWords(const CommandSpec& spec) {
  const std::size_t bar = spec.name.find('|');
  if (bar == std::string_view::npos) return {std::string(spec.name)};
  return {std::string(spec.name.substr(0, bar)), std::string(spec.name.substr(bar + 1))};
}

std::string Say(TestClient& client, const Words& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string request;
  protocol::AppendRequest(request, views);
  return client.Send(request.substr(0, request.size() - 2));
}

std::string WrongArity(const CommandSpec& spec) {
  std::string text = "-ERR wrong number of arguments for '" + Lowered(spec.name) + "' command";
  if (spec.group == "lock") {
    std::string name(spec.name);
    std::replace(name.begin(), name.end(), '|', ' ');
    const std::string rest(HasSubcommands(spec) ? "HELP" : spec.syntax);
    text += "; usage: " + name + (rest.empty() ? "" : " ") + rest;
  }
  return text + "\r\n";
}

class EveryCommand : public testing::TestWithParam<const CommandSpec*> {
 protected:
  const CommandSpec& spec() const { return *GetParam(); }
  Syntax syntax() const { return ParseSyntax(spec().syntax).value(); }
  std::size_t arity() const { return static_cast<std::size_t>(std::abs(spec().arity)); }

  TestServer server_;
  TestClient& client_ = server_.Connect();
};

// Appends as few arguments as the syntax allows.
void AppendFewest(const Syntax& syntax, Words& words) {
  for (const SyntaxNode& node : syntax) {
    if (node.is_optional) continue;
    if (!node.token.empty()) words.emplace_back(node.token);
    if (node.kind == SyntaxKind::kArgument) {
      words.emplace_back(TypeOf(node) == "integer" ? "1" : std::string(node.name));
    } else if (node.kind == SyntaxKind::kBlock) {
      AppendFewest(node.parts, words);
    } else if (node.kind == SyntaxKind::kOneOf) {
      AppendFewest({node.parts.front()}, words);
    }
  }
}

TEST_P(EveryCommand, IsDescribed) {
  const std::string name(spec().name);
  EXPECT_TRUE(std::none_of(name.begin(), name.end(), [](char c) { return c != ToUpper(c); }));
  EXPECT_THAT(spec().group,
              testing::AnyOf("lock", "redis", "hash", "list", "set", "sorted-set", "scripts",
                             "pubsub", "transactions", "connection", "server"));
  EXPECT_GE(spec().summary.size(), 10U);
  EXPECT_NE(spec().summary.back(), '.');
  EXPECT_FALSE(spec().complexity.empty());
  EXPECT_FALSE(spec().since.empty());
  EXPECT_TRUE(ParseSyntax(spec().syntax).has_value()) << spec().syntax;
}

TEST_P(EveryCommand, HasTheArityOfItsSyntax) {
  if (HasSubcommands(spec())) {
    EXPECT_EQ(spec().arity, spec().handler == nullptr ? -2 : -1);
    return;
  }
  const std::size_t foreign = spec().name == kHasForeignForm ? 1 : 0;
  EXPECT_EQ(NameWords(spec()).size() + FewestArguments(syntax()), arity() + foreign);
  if (spec().name == kIgnoresArguments || foreign > 0) return;
  EXPECT_EQ(MostArguments(syntax()) == FewestArguments(syntax()), spec().arity > 0);
}

TEST_P(EveryCommand, HasItsKeysWhereTheSyntaxNamesThem) {
  Words words = NameWords(spec());
  if (spec().handler != nullptr) AppendFewest(syntax(), words);
  std::vector<std::string_view> expected;
  for (const std::string& word : words) {
    const bool is_channel = spec().keys.are_channels && word == "shardchannel";
    const bool is_key = word == "key" || word == "source" || word == "destination";
    if (is_key || is_channel) expected.push_back(word);
  }
  EXPECT_EQ(KeysOf(spec(), std::vector<std::string_view>(words.begin(), words.end())), expected);
}

TEST_P(EveryCommand, RefusesTooFewArguments) {
  Words words = NameWords(spec());
  if (spec().handler != nullptr && words.size() == arity()) return;
  while (words.size() < arity() - 1) words.emplace_back("1");
  EXPECT_EQ(Say(client_, words), WrongArity(spec()));
  EXPECT_EQ(client_.Say("PING"), "PONG");
}

TEST_P(EveryCommand, RefusesTooManyArguments) {
  if (spec().handler == nullptr || spec().name == kIgnoresArguments) return;
  const auto most = MostArguments(syntax());
  if (!most) return;
  // As in Redis, a scan of a value reads its options only if there is one.
  if (spec().name == "HSCAN") client_.Say("HSET 1 1 1");
  if (spec().name == "SSCAN") client_.Say("SADD 1 1");
  if (spec().name == "ZSCAN") client_.Say("ZADD 1 1 1");
  Words words = NameWords(spec());
  const bool is_fixed = spec().arity > 0;
  words.resize(words.size() + *most + 1, "1");
  const std::string reply = Say(client_, words);
  if (is_fixed) {
    EXPECT_EQ(reply, WrongArity(spec()));
  } else {
    EXPECT_EQ(reply.front(), '-') << reply;
  }
  EXPECT_EQ(client_.Say("PING"), "PONG");
}

TEST_P(EveryCommand, TakesWhatItsSyntaxAllows) {
  if (spec().handler == nullptr) return;
  Words words = NameWords(spec());
  AppendFewest(syntax(), words);
  const std::string reply = Say(client_, words);
  EXPECT_EQ(reply.find("wrong number of arguments"), std::string::npos) << reply;
  EXPECT_EQ(reply.find("syntax error"), std::string::npos) << reply;
}

std::vector<const CommandSpec*> AllRows() {
  static const CommandTable table = WholeLanguage();
  return {table.rows().begin(), table.rows().end()};
}

std::string TestName(const testing::TestParamInfo<const CommandSpec*>& row) {
  std::string name(row.param->name);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < 'A' || c > 'Z'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryCommand, testing::ValuesIn(AllRows()), TestName);

TEST(CommandTable, FindsRowsByNameWhateverItsCase) {
  const CommandTable table = WholeLanguage();
  for (const CommandSpec* spec : table.rows()) {
    EXPECT_EQ(table.Find(spec->name), spec);
    EXPECT_EQ(table.Find(Lowered(spec->name)), spec);
  }
  EXPECT_EQ(table.Find("NOSUCH"), nullptr);
  EXPECT_EQ(table.Find(""), nullptr);
}

// Tries each name with one byte replaced by any other byte, and with any byte appended.
TEST(CommandTable, FindsNothingByANameThatIsAlmostRight) {
  const CommandTable table = WholeLanguage();
  std::map<std::string_view, const CommandSpec*> by_name;
  for (const CommandSpec* row : table.rows()) by_name.emplace(row->name, row);
  for (const auto& [right, spec] : by_name) {
    for (std::size_t at = 0; at <= right.size(); ++at) {
      std::string name(right);
      name.resize(std::max(right.size(), at + 1));
      for (int byte = 0; byte < 256; ++byte) {
        name[at] = static_cast<char>(byte);
        std::string upper = name;
        std::transform(upper.begin(), upper.end(), upper.begin(), ToUpper);
        const auto expected = by_name.find(upper);
        ASSERT_EQ(table.Find(name), expected == by_name.end() ? nullptr : expected->second) << name;
      }
    }
  }
}

TEST(CommandTable, HasNoNameTwice) {
  const CommandTable table = WholeLanguage();
  std::set<std::string_view> names;
  for (const CommandSpec* spec : table.rows()) names.insert(spec->name);
  EXPECT_EQ(names.size(), table.rows().size());
}

TEST(CommandTable, KeepsSubcommandsBehindTheirContainer) {
  const CommandTable table = WholeLanguage();
  std::size_t found = 0;
  for (const CommandSpec* spec : table.rows()) {
    for (const CommandSpec* subcommand : table.SubcommandsOf(*spec)) {
      EXPECT_TRUE(subcommand->name.starts_with(std::string(spec->name) + "|"));
      ++found;
    }
  }
  const auto subcommands = std::count_if(table.rows().begin(), table.rows().end(),
                                         [](const auto* spec) { return IsSubcommand(*spec); });
  EXPECT_EQ(found, static_cast<std::size_t>(subcommands));
}

}  // namespace
}  // namespace fairlock::command
