// Rules that define users; ACL files, both valid and hostile; and the resulting permissions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/access/slow_hash.h"
#include "server/access/user_rules.h"
#include "server/access/user_table.h"

namespace fairlock::access {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const Vocabulary& Words() {
  static const Vocabulary vocabulary({{"lock", {"lock", "write"}},
                                      {"get", {"read"}},
                                      {"client", {}},
                                      {"client|id", {"connection"}},
                                      {"client|kill", {"admin", "dangerous"}},
                                      {"set", {"write", "unowned"}},
                                      {"set|nx", {"write"}}});
  return vocabulary;
}

// Returns the user that these rules create; a wrong rule fails the test.
User Make(std::initializer_list<std::string_view> rules) {
  User user{.name = "u"};
  for (const std::string_view rule : rules) EXPECT_EQ(ApplyRule(rule, Words(), user), "");
  return user;
}

std::string ErrorOf(std::string_view rule) {
  User user{.name = "u"};
  return ApplyRule(rule, Words(), user);
}

// The names of the commands that the user may run.
std::vector<std::string> CommandsOf(const User& user) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < Words().commands().size(); ++i) {
    if (user.commands.test(i)) names.push_back(Words().commands()[i].name);
  }
  return names;
}

UsersRead Read(std::string_view text) {
  return ReadUsers({.acl_text = std::string(text), .default_password = ""}, Words());
}

TEST(UserRules, ANewUserMayDoNothing) {
  const User user = Make({});
  EXPECT_FALSE(user.is_on);
  EXPECT_FALSE(user.needs_no_password);
  EXPECT_TRUE(user.commands.none());
  EXPECT_FALSE(user.MayUse("k", KeyUse::kRead));
  EXPECT_TRUE(user.channels.is_all());
  EXPECT_TRUE(user.owners.is_all());
}

TEST(UserRules, CommandsAddAndSubtractInTheirOrder) {
  EXPECT_THAT(CommandsOf(Make({"+LOCK", "+client"})),
              ElementsAre("lock", "client", "client|id", "client|kill"));
  EXPECT_THAT(CommandsOf(Make({"+client", "-client|kill"})), ElementsAre("client", "client|id"));
  EXPECT_THAT(CommandsOf(Make({"+client|id"})), ElementsAre("client|id"));
  EXPECT_THAT(CommandsOf(Make({"+@write", "-@unowned"})), ElementsAre("lock", "set|nx"));
  EXPECT_THAT(CommandsOf(Make({"+@all", "-set"})),
              ElementsAre("lock", "get", "client", "client|id", "client|kill"));
  EXPECT_THAT(CommandsOf(Make({"allcommands", "nocommands", "+get"})), ElementsAre("get"));
  EXPECT_TRUE(Make({"+@ALL"}).commands.all());
}

TEST(UserRules, KeysByTheirUse) {
  const User user = Make({"~both:*", "%R~seen:*", "%w~blind:*"});
  EXPECT_TRUE(user.MayUse("both:1", KeyUse::kWrite));
  EXPECT_TRUE(user.MayUse("seen:1", KeyUse::kRead));
  EXPECT_FALSE(user.MayUse("seen:1", KeyUse::kWrite));
  EXPECT_FALSE(user.MayUse("blind:1", KeyUse::kRead));
  EXPECT_FALSE(user.MayUse("blind:1", KeyUse::kWrite));
  EXPECT_FALSE(user.MayUse("", KeyUse::kRead));
  EXPECT_TRUE(Make({"~*"}).MayUse(std::string_view("\0", 1), KeyUse::kWrite));
  EXPECT_FALSE(Make({"allkeys", "resetkeys"}).MayUse("k", KeyUse::kRead));
}

TEST(UserRules, TheFirstOwnerOrChannelLeavesNoOthers) {
  const User user = Make({"owner:web-*", "owner:cron", "&jobs:*"});
  EXPECT_TRUE(user.owners.Match("web-1"));
  EXPECT_TRUE(user.owners.Match("cron"));
  EXPECT_FALSE(user.owners.Match("cron-2"));
  EXPECT_FALSE(user.channels.Match("other"));
  EXPECT_FALSE(Make({"resetowners"}).owners.Match("x"));
  EXPECT_TRUE(Make({"resetowners", "allowners"}).owners.Match("x"));
}

TEST(UserRules, OnlyWhoMayEverythingIsUnlimited) {
  EXPECT_TRUE(Make({"+@all", "~*"}).IsUnlimited());
  EXPECT_FALSE(Make({"+@all", "~*", "-get"}).IsUnlimited());
  EXPECT_FALSE(Make({"+@all", "%R~*"}).IsUnlimited());
  EXPECT_FALSE(Make({"+@all", "~*", "owner:a"}).IsUnlimited());
  EXPECT_FALSE(Make({"+@all", "~*", "&a"}).IsUnlimited());
}

TEST(UserRules, DescriptionsMakeTheSameUserAgain) {
  const std::string hash = MakeSlowHash("pw");
  for (const User& user : {Make({}), Make({"on", "nopass", "~*", "+@all"}),
                           Make({"on", ">secret", hash, "~a:*", "%R~b", "%W~c", "&x", "&y*",
                                 "owner:o*", "+@write", "-@unowned", "+client|id"}),
                           Make({"%R~*", "%W~w:*", "resetchannels", "resetowners", "-@all"})}) {
    const std::string text = DescribeUser(user);
    const UsersRead read = Read(text);
    ASSERT_EQ(read.error, "") << text;
    const User& again = *read.users->Find("u");
    EXPECT_EQ(DescribeUser(again), text);
    EXPECT_EQ(again.commands, user.commands);
    EXPECT_EQ(again.is_on, user.is_on);
    EXPECT_EQ(again.needs_no_password, user.needs_no_password);
    EXPECT_EQ(again.passwords.size(), user.passwords.size());
    for (const std::string_view text_to_match : {"a:1", "b", "c", "w:1", "x", "yy", "oo", "z"}) {
      EXPECT_EQ(again.MayUse(text_to_match, KeyUse::kRead),
                user.MayUse(text_to_match, KeyUse::kRead));
      EXPECT_EQ(again.MayUse(text_to_match, KeyUse::kWrite),
                user.MayUse(text_to_match, KeyUse::kWrite));
      EXPECT_EQ(again.channels.Match(text_to_match), user.channels.Match(text_to_match));
      EXPECT_EQ(again.owners.Match(text_to_match), user.owners.Match(text_to_match));
    }
  }
}

TEST(UserRules, ErrorsSayWhatIsAllowed) {
  EXPECT_THAT(ErrorOf("+nosuch"), HasSubstr("unknown command"));
  EXPECT_THAT(ErrorOf("+@nosuch"), HasSubstr("unknown category"));
  EXPECT_THAT(ErrorOf("+@"), HasSubstr("unknown category"));
  EXPECT_THAT(ErrorOf("+"), HasSubstr("unknown command"));
  EXPECT_THAT(ErrorOf("-client|"), HasSubstr("unknown command"));
  EXPECT_THAT(ErrorOf("~"), HasSubstr("must be followed by a glob"));
  EXPECT_THAT(ErrorOf("&"), HasSubstr("must be followed by a glob"));
  EXPECT_THAT(ErrorOf("owner:"), HasSubstr("must be followed by a glob"));
  EXPECT_THAT(ErrorOf("%X~k"), HasSubstr("%RW~"));
  EXPECT_THAT(ErrorOf("%R"), HasSubstr("%RW~"));
  EXPECT_THAT(ErrorOf("(~a +get)"), HasSubstr("not a rule"));
  EXPECT_THAT(ErrorOf("onn"), HasSubstr("not a rule"));
  EXPECT_THAT(ErrorOf(">"), HasSubstr("must be followed by a password"));
  EXPECT_THAT(ErrorOf("#123"), HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(ErrorOf("#" + std::string(63, '0') + "g"), HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(ErrorOf("$1$old$method"), HasSubstr("slow hash"));
  EXPECT_THAT(ErrorOf("$"), HasSubstr("slow hash"));
  EXPECT_THAT(ErrorOf(std::string(1025, '~')), HasSubstr("1 to 1024 bytes"));
  User user{.name = "u"};
  EXPECT_EQ(ApplyRule("~*", Words(), user), "");
  EXPECT_THAT(ApplyRule("~a", Words(), user), HasSubstr("no effect"));
}

TEST(UserRules, ErrorsTellNoPassword) {
  EXPECT_EQ(ErrorOf("#hunter2").find("hunter2"), std::string::npos);
  EXPECT_EQ(ErrorOf("$hunter2").find("hunter2"), std::string::npos);
}

TEST(UserTable, WithoutAnythingThereIsOneWhoMayEverything) {
  const UsersRead read = ReadUsers({}, Words());
  ASSERT_NE(read.users, nullptr);
  EXPECT_TRUE(read.users->Default()->IsUnlimited());
  EXPECT_TRUE(read.users->IsOpen());
}

TEST(UserTable, ReadsAFile) {
  const UsersRead read = Read("# people\n\nuser alice on >pw ~* +@all\r\n\tuser bob off\n");
  ASSERT_EQ(read.error, "");
  EXPECT_TRUE(read.users->Find("alice")->is_on);
  EXPECT_FALSE(read.users->Find("bob")->is_on);
  EXPECT_EQ(read.users->Default(), nullptr);
  EXPECT_FALSE(read.users->IsOpen());
  EXPECT_TRUE(Read("user x on nopass").users->IsOpen());
  EXPECT_FALSE(Read("user x off nopass").users->IsOpen());
}

TEST(UserTable, AnEmptyFileLetsNobodyIn) {
  const UsersRead read = Read("");
  ASSERT_EQ(read.error, "");
  EXPECT_TRUE(read.users->users().empty());
}

TEST(UserTable, WrongLinesAreNamedByTheirNumber) {
  EXPECT_THAT(Read("\n\nalice on").error, StartsWith("line 3: "));
  EXPECT_THAT(Read("user").error, HasSubstr("`user NAME RULE...`"));
  EXPECT_THAT(Read("user a\nuser a").error, StartsWith("line 2: user a is already defined"));
  EXPECT_THAT(Read("user a on +lok").error, StartsWith("line 1: user a: '+lok': unknown command"));
  EXPECT_THAT(Read("user (server) on").error, HasSubstr("a user name must have 1 to 128"));
  EXPECT_THAT(Read("user " + std::string(129, 'n')).error,
              HasSubstr("a user name must have 1 to 128"));
  EXPECT_THAT(Read("user n\xc3\xa9").error, HasSubstr("a user name must have 1 to 128"));
  EXPECT_THAT(Read(std::string("user a\0on", 9)).error,
              HasSubstr("control characters are not allowed"));
  EXPECT_THAT(Read("user a \x1b[2J").error, HasSubstr("control characters are not allowed"));
  EXPECT_THAT(Read(std::string(5 * 1024 * 1024, '\n')).error,
              HasSubstr("at most 4194304 bytes, has 5242880"));
}

TEST(UserTable, HasBounds) {
  std::string many;
  for (int i = 0; i <= 10'000; ++i) many += "user u" + std::to_string(i) + "\n";
  EXPECT_THAT(Read(many).error, StartsWith("line 10001: at most 10000 users"));
  std::string globs = "user a";
  for (int i = 0; i <= 1000; ++i) globs += " ~k" + std::to_string(i);
  EXPECT_THAT(Read(globs).error, HasSubstr("at most 1000 rules of this kind"));
  std::string passwords = "user a";
  for (int i = 0; i <= 1000; ++i) passwords += " >p" + std::to_string(i);
  EXPECT_THAT(Read(passwords).error, HasSubstr("at most 1000 passwords"));
}

TEST(UserTable, APasswordOfDefaultIsTheWordOrItsHash) {
  const std::string hash = MakeSlowHash("pw");
  const std::string sha = "#" + HexOf(DigestOf("pw"));
  for (const std::string& password : {std::string("p w"), hash, sha}) {
    const UsersRead read =
        ReadUsers({.acl_text = std::nullopt, .default_password = password}, Words());
    ASSERT_EQ(read.error, "");
    ASSERT_EQ(read.users->Default()->passwords.size(), 1U);
    EXPECT_FALSE(read.users->IsOpen());
    EXPECT_TRUE(read.users->Default()->IsUnlimited());
    EXPECT_EQ(read.users->decoy(), password == hash ? hash : "");
  }
  EXPECT_THAT(ReadUsers({.acl_text = "user default on", .default_password = "p"}, Words()).error,
              HasSubstr("one of the two"));
}

TEST(SlowHash, KnowsItsPasswordAndNoOther) {
  const std::string hash = MakeSlowHash("correct horse");
  EXPECT_THAT(hash, StartsWith("$y$"));
  EXPECT_TRUE(IsSlowHash(hash));
  EXPECT_TRUE(IsPasswordOf(hash, "correct horse"));
  EXPECT_FALSE(IsPasswordOf(hash, "correct hors"));
  EXPECT_FALSE(IsPasswordOf(hash, ""));
  EXPECT_NE(MakeSlowHash("correct horse"), hash);
}

TEST(SlowHash, EachKindHasItsLength) {
  const std::string salt = "$saltsalt$";
  for (const std::string& whole :
       {"$y$j9T" + salt + std::string(43, 'a'), "$gy$j9T" + salt + std::string(43, '/'),
        "$7$CU..../....saltsalt$" + std::string(43, 'Z'), "$2b$05$" + std::string(53, '.'),
        "$2y$10$" + std::string(53, '9'), "$6" + salt + std::string(86, 'a'),
        "$6$rounds=5000" + salt + std::string(86, 'a')}) {
    EXPECT_TRUE(IsSlowHash(whole)) << whole;
    EXPECT_FALSE(IsSlowHash(whole.substr(0, whole.size() - 1))) << whole;
    EXPECT_FALSE(IsSlowHash(whole + "a")) << whole;
    EXPECT_FALSE(IsSlowHash(whole.substr(0, whole.size() - 1) + "-")) << whole;
    EXPECT_FALSE(IsSlowHash(whole.substr(0, whole.rfind('$')))) << whole;
  }
  EXPECT_FALSE(IsSlowHash("$y$j9T$salt"));
}

TEST(SlowHash, OneThatIsNotWholeIsNoPassword) {
  const std::string hash = MakeSlowHash("pw");
  for (const std::string& cut : {hash.substr(0, hash.size() - 1), std::string("$y$j9T$salt")}) {
    EXPECT_THAT(
        Read("user a\nuser b on " + cut).error,
        StartsWith("line 2: user b: a rule that starts with $ must be a complete slow hash"));
    EXPECT_THAT(ReadUsers({.acl_text = std::nullopt, .default_password = cut}, Words()).error,
                StartsWith("requirepass: a rule that starts with $"));
  }
  const auto plain = ReadUsers({.acl_text = std::nullopt, .default_password = "$ecret"}, Words());
  EXPECT_EQ(plain.error, "");
}

TEST(SlowHash, AZeroByteEndsNoPassword) {
  const std::string hash = MakeSlowHash("abc");
  EXPECT_FALSE(IsPasswordOf(hash, std::string_view("abc\0def", 7)));
  EXPECT_EQ(MakeSlowHash(std::string_view("abc\0def", 7)), "");
  EXPECT_EQ(MakeSlowHash(std::string(512, 'p')), "");
  EXPECT_FALSE(IsPasswordOf(hash, std::string(100'000, 'p')));
}

TEST(SlowHash, ADamagedOneHasNoPassword) {
  const std::string hash = MakeSlowHash("abc");
  EXPECT_FALSE(IsPasswordOf(hash.substr(0, hash.size() - 1), "abc"));
  EXPECT_FALSE(IsPasswordOf("", "abc"));
  EXPECT_FALSE(IsPasswordOf("*0", "abc"));
  EXPECT_FALSE(IsSlowHash("*0"));
  EXPECT_FALSE(IsSlowHash(""));
  EXPECT_FALSE(IsSlowHash(std::string(5000, '$')));
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(HexOf(DigestOf("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ParseDigest(HexOf(DigestOf("abc"))), DigestOf("abc"));
}

TEST(Digest, UnderAKeyPartsAreNotTheirSum) {
  const DigestKey key;
  EXPECT_EQ(key.Of({"ab", "c"}), key.Of({"ab", "c"}));
  EXPECT_NE(key.Of({"ab", "c"}), key.Of({"a", "bc"}));
  EXPECT_NE(key.Of({"ab", "c"}), DigestKey().Of({"ab", "c"}));
}

}  // namespace
}  // namespace fairlock::access
