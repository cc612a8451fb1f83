// Durations and their units, misspelled names, and warnings about likely mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "server/command/table/duration_text.h"
#include "server/command/table/nearest_word.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST(DurationText, HasOneSetOfUnits) {
  for (const auto& [text, ms] : {std::pair{"500ms", 500},
                                 {"30s", 30'000},
                                 {"5M", 300'000},
                                 {"2h", 7'200'000},
                                 {"1d", 86'400'000},
                                 {"0s", 0}}) {
    const auto duration = ParseDuration(text);
    ASSERT_TRUE(duration) << text;
    EXPECT_EQ(duration->ms, ms) << text;
    EXPECT_TRUE(duration->has_unit) << text;
  }
  EXPECT_EQ(ParseDuration("250")->ms, 250);
  EXPECT_FALSE(ParseDuration("250")->has_unit);
  for (const char* wrong : {"", "s", "-1", "-1s", "1.5s", "1w", "1 s", " 1s", "1s ", "+1s",
                            "99999999999999999999", "999999999d", "1h30m"}) {
    EXPECT_FALSE(ParseDuration(wrong)) << wrong;
  }
}

TEST(DurationText, IsShownInTheLargestWholeUnit) {
  for (const auto& [ms, text] : {std::pair{0, "0"},
                                 {1, "1ms"},
                                 {1500, "1500ms"},
                                 {60'000, "1m"},
                                 {90'000, "90s"},
                                 {86'400'000, "1d"}}) {
    EXPECT_EQ(FormatDuration(ms), text);
    EXPECT_EQ(ParseDuration(text)->ms, ms);
  }
}

TEST(NearestWord, CountsLettersAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("LOKC", "lock"), 1U);
  EXPECT_EQ(EditDistance("locsk", "LOCKS"), 1U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
}

TEST(NearestWord, PrefersTheNearest) {
  NearestWord nearest("LCOKS");
  for (const char* word : {"LOCK", "LOCKED", "LOCKS", "UNLOCK"}) nearest.Try(word);
  EXPECT_EQ(nearest.found(), "LOCKS");
  NearestWord far("LOCK");
  far.Try("LIMIT");
  EXPECT_EQ(far.found(), "");
  NearestWord huge(std::string(100'000, 'x'));
  huge.Try("LOCK");
  EXPECT_EQ(huge.found(), "");
}

class WordsTest : public testing::Test {
 protected:
  const std::vector<std::string>& warnings() { return server_.environment().warnings; }

  TestServer server_;
  TestClient& client_ = server_.Connect();
};

TEST_F(WordsTest, AnUnknownCommandSuggestsTheOneThatWasMeant) {
  for (const auto& [word, meant] : {std::pair{"LOKC", "LOCK"},
                                    {"lcok", "LOCK"},
                                    {"UNLCOK", "UNLOCK"},
                                    {"RENWE", "RENEW"},
                                    {"LOCKINF", "LOCKINFO"},
                                    {"QUEU", "QUEUE"},
                                    {"ACQUIRE", "LOCK"},
                                    {"acquire", "LOCK"},
                                    {"RELEASE", "UNLOCK"},
                                    {"EXTEND", "RENEW"},
                                    {"REFRESH", "RENEW"},
                                    {"SUBSCIRBE", "SUBSCRIBE"}}) {
    EXPECT_EQ(client_.Say({word, "k", "me"}),
              "-ERR unknown command '" + std::string(word) +
                  "', with args beginning with: 'k' 'me' ; did you mean " + meant + "?");
  }
  for (const char* word : {"FOO", "XYZZY", "NOSUCHCOMMAND", "GO"}) {
    EXPECT_THAT(client_.Say({word, "k"}), EndsWith("beginning with: 'k' ")) << word;
  }
  EXPECT_EQ(client_.Say("CLIENT LSIT"),
            "-ERR unknown subcommand 'LSIT'. Try CLIENT HELP. Did you mean CLIENT LIST?");
  EXPECT_EQ(client_.Say("LIMIT FOO"), "-ERR unknown subcommand 'FOO'. Try LIMIT HELP.");
  EXPECT_THAT(client_.Say("SENTINEL MASTERS"),
              AllOf(StartsWith("-ERR unknown command 'SENTINEL', with args beginning with: "),
                    HasSubstr("sentinel_port")));
}

TEST_F(WordsTest, SecondsBesideABareDurationAreLoggedOncePerLibrary) {
  client_.Say("CLIENT SETINFO LIB-NAME redis-py");
  EXPECT_NE(client_.Say("LOCK k me EX 30 WAIT 30"), "nil");
  ASSERT_THAT(warnings(), SizeIs(1));
  EXPECT_EQ(warnings().back(),
            "client library 'redis-py' (127.0.0.1:50001) sent LOCK with EX and WAIT 30: without a "
            "unit that is 30 ms, probably a mistake; WAIT 30s is seconds, WAIT 30ms avoids this "
            "warning, which is logged once per library");
  client_.Say("LOCK k me EX 30 WAIT 30");
  TestClient& same = server_.Connect();
  same.Say("CLIENT SETINFO LIB-NAME redis-py");
  same.Say("MLOCK 2 a b me EX 30 KEEP 10");
  EXPECT_THAT(warnings(), SizeIs(1));
  server_.Connect().Say("MLOCK 2 a b me KEEP 10 EX 30");
  ASSERT_THAT(warnings(), SizeIs(2));
  EXPECT_THAT(warnings().back(), StartsWith("an unknown client library (127.0.0.1:50003) sent "
                                            "MLOCK with EX and KEEP 10: "));
}

TEST_F(WordsTest, NothingElseIsLogged) {
  for (const char* line :
       {"LOCK k me WAIT 30", "LOCK k me PX 30000 WAIT 30", "LOCK k me EX 30 WAIT 30s",
        "LOCK k me EX 30 WAIT 1000", "LOCK k me EX 30 WAIT 0", "LOCK k me EX 30 WAIT FOREVER",
        "LOCK k me EX 30 KEEP 30ms", "LOCK k me EX 30 WAIT 30 NOSUCH", "LOCK k me EX 30 LIMIT 5",
        "WAIT free TIMEOUT 30"}) {
    client_.Say(line);
    EXPECT_THAT(warnings(), IsEmpty()) << line;
  }
}

TEST_F(WordsTest, LibrariesThatAreRememberedAreBounded) {
  for (int i = 0; i < 1000; ++i) {
    client_.Say("CLIENT SETINFO LIB-NAME lib" + std::to_string(i));
    client_.Say("LOCK k me EX 30 WAIT 30");
  }
  EXPECT_THAT(warnings(), SizeIs(100));
}

}  // namespace
}  // namespace fairlock::command
