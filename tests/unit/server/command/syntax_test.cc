#include <gtest/gtest.h>

#include <string>

#include "server/command/table/command_syntax.h"

namespace fairlock::command {
namespace {

std::string Show(const Syntax& syntax);

// Shows a node as token=name:type, with '?' for optional, '+' for repeated, and its parts in
// brackets.
std::string Show(const SyntaxNode& node) {
  std::string text = NameOf(node) + ":" + std::string(TypeOf(node));
  if (!node.token.empty()) text = std::string(node.token) + "=" + text;
  if (!node.parts.empty()) text += "(" + Show(node.parts) + ")";
  if (node.is_optional) text += "?";
  if (node.is_repeated) text += "+";
  return text;
}

std::string Show(const Syntax& syntax) {
  std::string text;
  for (const SyntaxNode& node : syntax) {
    if (!text.empty()) text += " ";
    text += Show(node);
  }
  return text;
}

std::string Read(std::string_view notation) {
  const auto syntax = ParseSyntax(notation);
  return syntax ? Show(*syntax) : "wrong";
}

TEST(CommandSyntax, LowerCaseIsAnArgumentAndUpperCaseATokenOfTheRequest) {
  EXPECT_EQ(Read(""), "");
  EXPECT_EQ(Read("key owner"), "key:key owner:string");
  EXPECT_EQ(Read("NOW"), "NOW=now:pure-token");
  EXPECT_EQ(Read("key count seconds milliseconds glob"),
            "key:key count:integer seconds:integer milliseconds:integer glob:pattern");
}

TEST(CommandSyntax, AWordInFrontBelongsToWhatFollowsIt) {
  EXPECT_EQ(Read("TIMEOUT duration"), "TIMEOUT=duration:string");
  EXPECT_EQ(Read("[LIMIT n]"), "LIMIT=n:integer?");
  EXPECT_EQ(Read("NEW [LIMIT n]"), "NEW=new:pure-token LIMIT=n:integer?");
  EXPECT_EQ(Read("SET EX seconds"), "SET=set:pure-token EX=seconds:integer");
}

TEST(CommandSyntax, ChoicesAreOfSequencesOrOfWords) {
  EXPECT_EQ(Read("[EX seconds | PX milliseconds]"),
            "seconds-or-milliseconds:oneof(EX=seconds:integer PX=milliseconds:integer)?");
  EXPECT_EQ(Read("[WAIT duration|FOREVER]"),
            "WAIT=wait:oneof(duration:string FOREVER=forever:pure-token)?");
  EXPECT_EQ(Read("a b | c"), "a-or-c:oneof(a:block(a:string b:string) c:string)");
}

TEST(CommandSyntax, BracketsNest) {
  EXPECT_EQ(Read("[protocol [AUTH user password] [SETNAME name]]"),
            "protocol:block(protocol:integer "
            "user:block(AUTH=user:string password:string)? SETNAME=name:string?)?");
  EXPECT_EQ(Read("[MAXWAITERS n [REPLACE]]"),
            "n:block(MAXWAITERS=n:integer REPLACE=replace:pure-token?)?");
}

TEST(CommandSyntax, WhatStandsInBracketsAgainIsRepeated) {
  EXPECT_EQ(Read("key [key ...]"), "key:key+");
  EXPECT_EQ(Read("[section ...]"), "section:string?+");
  EXPECT_EQ(Read("ID client-id [client-id ...]"), "ID=client-id:integer+");
  EXPECT_EQ(Read("setting value [setting value ...]"),
            "setting:block(setting:string value:string)+");
  EXPECT_EQ(Read("command argument [argument ...]"), "command:string argument:string+");
  EXPECT_EQ(Read("key [owner ...]"), "key:key owner:string?+");
}

TEST(CommandSyntax, RefusesWhatHasNoMeaning) {
  for (const std::string_view notation :
       {"[", "]", "[key", "key]", "[]", "a |", "| a", "a | | b", "a|", "|", "a||b", "...",
        "key ...", "[key ... owner]", "[...]"}) {
    EXPECT_EQ(Read(notation), "wrong") << notation;
  }
}

TEST(CommandSyntax, RefusesBracketsThatAreNestedTooDeep) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + "a" + std::string(depth, ']');
  };
  EXPECT_NE(Read(nested(16)), "wrong");
  EXPECT_EQ(Read(nested(17)), "wrong");
  EXPECT_EQ(Read(nested(1'000'000)), "wrong");
}

TEST(CommandSyntax, CountsTheArgumentsOfARequest) {
  struct Row {
    std::string_view notation;
    std::size_t fewest;
    std::optional<std::size_t> most;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"", 0, 0},
           {"key owner", 2, 2},
           {"key owner [EX seconds | PX milliseconds] [NEW]", 2, 5},
           {"[WAIT duration|FOREVER]", 0, 2},
           {"key TIMEOUT duration|FOREVER | a b", 2, 3},
           {"key [key ...]", 1, std::nullopt},
           {"setting value [setting value ...]", 2, std::nullopt},
           {"[protocol [AUTH user password] [SETNAME name]]", 0, 6},
       }) {
    const auto syntax = ParseSyntax(row.notation);
    ASSERT_TRUE(syntax.has_value()) << row.notation;
    EXPECT_EQ(FewestArguments(*syntax), row.fewest) << row.notation;
    EXPECT_EQ(MostArguments(*syntax), row.most) << row.notation;
  }
}

}  // namespace
}  // namespace fairlock::command
