// Scenarios that must fail do so at the right line, with the right message.

#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/player.h"
#include "tests/scenarios/scenario_reader.h"
#include "tests/scenarios/virtual_stage.h"

namespace fairlock::scenarios {
namespace {

// Plays the only case in the text; returns an empty string if everything went as expected.
std::string Played(const std::string& steps) {
  const ReadResult read = ReadScenario("x", "== A case\n" + steps);
  if (!read.error.empty()) return "unreadable: " + read.error;
  VirtualStage stage({});
  return Play(read.scenario.cases.front(), stage, {.path = "x"}).value_or("");
}

std::string ReadError(const std::string& text) { return ReadScenario("x", text).error; }

constexpr char kTaken[] = "a: LOCK k a\n -> token t1\n";

TEST(ScenarioPlay, SaysNothingWhenAllIsAsExpected) {
  EXPECT_EQ(Played(std::string(kTaken) +
                   "b: LOCK k b WAIT 10s\n -> (waits)\na: UNLOCK k a\n -> 1\nb: <- token t2 > t1\n"
                   "b: CHECK k $t2\n -> 1\n"),
            "");
}

TEST(ScenarioPlay, FindsAWrongReply) {
  EXPECT_EQ(Played("a: UNLOCK k a\n -> 1\n"), "x:3: expected 1, got 0");
  EXPECT_EQ(Played("a: LOCK k a\n -> nil\n"), "x:3: expected nil, got 1");
  EXPECT_EQ(Played("a: LOCKED k\n -> \"0\"\n"), "x:3: expected \"0\", got 0");
  EXPECT_EQ(Played("a: LOCKED k\n -> 1..3\n"), "x:3: expected 1..3, got 0");
}

TEST(ScenarioPlay, FindsAReplyThatIsMissing) {
  EXPECT_EQ(Played(std::string(kTaken) + "b: LOCK k b WAIT 1s\n -> nil\n"),
            "x:5: expected nil, got no reply");
  EXPECT_EQ(Played(std::string(kTaken) + "a: <- 1\n"), "x:4: expected 1, got no reply");
}

TEST(ScenarioPlay, FindsAReplyThatNothingExpects) {
  const std::string waiting = std::string(kTaken) + "b: LOCK k b WAIT 1s\n -> (waits)\n";
  EXPECT_EQ(Played(waiting + "a: UNLOCK k a\n -> 1\na: LOCKED k\n -> 1\n"),
            "x:8: before this, b got 2, which nothing expects");
  EXPECT_EQ(Played(waiting + "advance 1s\n"), "x:6: before this, b got nil, which nothing expects");
  EXPECT_EQ(Played("a: LOCK k a\n -> (waits)\n"), "x:3: expected that it waits, got 1");
}

TEST(ScenarioPlay, FindsATokenThatIsNotNew) {
  EXPECT_EQ(Played(std::string(kTaken) + "a: LOCK k a\n -> token t2\n"),
            "x:5: expected a new token t2, got 1 after 1");
  EXPECT_EQ(Played(std::string(kTaken) + "a: LOCK j a\n -> token t1\n"),
            "x:5: expected token t1, which is 1, got 2");
  EXPECT_EQ(Played(std::string(kTaken) + "a: LOCK k a\n -> token t1 > t1\n"),
            "x:5: expected token t1 > t1, got 1");
}

TEST(ScenarioPlay, FindsAWrongError) {
  EXPECT_EQ(Played("a: LOCK k\n -> error DEADLOCK\n").substr(0, 49),
            "x:3: expected error DEADLOCK, got error \"ERR wron");
  EXPECT_EQ(Played("a: LOCKED k\n -> error ERR\n"), "x:3: expected error ERR, got 0");
}

TEST(ScenarioPlay, FindsAWrongFieldInside) {
  EXPECT_EQ(Played(std::string(kTaken) + "a: LOCKINFO k\n -> {holders: [{owner: b, ...}], ...}\n")
                .substr(0, 60),
            "x:5: holders: element 1: owner: expected \"b\", got \"a\"");
  EXPECT_EQ(
      Played(std::string(kTaken) + "a: LOCK k b EXPLAIN\n -> {status: denied}\n").substr(0, 40),
      "x:5: expected {status: \"denied\"}, got [\"");
  EXPECT_EQ(Played(std::string(kTaken) + "a: QUEUE k\n -> [any]\n"), "x:5: expected [any], got []");
}

TEST(ScenarioPlay, TimesAreExactInVirtualTime) {
  const std::string explain =
      "a: LOCK k a PX 1000\n -> token t1\nadvance 400ms\n"
      "a: LOCK k b EXPLAIN\n -> {ttl_ms: left ";
  EXPECT_EQ(Played(explain + "600ms, ...}\n"), "");
  EXPECT_EQ(Played(explain + "601ms, ...}\n"), "x:6: ttl_ms: expected left 601ms, got 600");
  EXPECT_EQ(Played(explain + "599ms, ...}\n"), "x:6: ttl_ms: expected left 599ms, got 600");
}

TEST(ScenarioPlay, FindsAClosedConnection) {
  EXPECT_EQ(Played("a sends \"GET / HTTP/1.1\\r\\n\"\n -> error ERR\na: LOCKED k\n -> 0\n"),
            "x:4: before this, the server closed the connection of a");
  EXPECT_EQ(Played("a: LOCKED k\n -> 0\n -> (closed)\n"),
            "x:4: the server did not close the connection");
  EXPECT_EQ(Played("a disconnects\n"), "x:2: a is not connected");
}

TEST(ScenarioPlay, NamesMustBeBound) {
  EXPECT_EQ(Played("a: CHECK k $t1\n -> 0\n"), "x:2: nothing is called t1");
  EXPECT_EQ(Played("a: LOCK k a\n -> token t1 > t0\n"), "x:3: nothing is called t0");
  EXPECT_EQ(Played("a: LOCK k a\n -> $t0\n"), "x:3: nothing is called t0");
}

TEST(ScenarioReading, NamesTheLine) {
  EXPECT_EQ(ReadError(""), "x:0: there is no case");
  EXPECT_EQ(ReadError("# only this\n"), "x:1: there is no case");
  EXPECT_EQ(ReadError("a: PING\n"), "x:1: a case begins with '== what it shows'");
  EXPECT_EQ(ReadError("== A\n"), "x:1: the case has no steps");
  EXPECT_EQ(ReadError("==\na: PING\n -> PONG\n"), "x:1: the case has no title");
  EXPECT_EQ(ReadError("option\n"), "x:1: the name of the option is missing");
  EXPECT_EQ(ReadError("== A [fast]\n"),
            "x:1: behind a title stands [virtual-only], [RESP2] or [RESP3]");
}

TEST(ScenarioReading, EachRequestHasItsReply) {
  EXPECT_EQ(ReadError("== A\na: PING\n"), "x:2: a request of a before has no '-> reply'");
  EXPECT_EQ(ReadError("== A\na: PING\nb: PING\n -> PONG\n"),
            "x:3: a request of a before has no '-> reply'");
  EXPECT_EQ(ReadError("== A\na: PING\na: PING\n -> PONG\nadvance 1s\n"),
            "x:5: a request of a before has no '-> reply'");
  EXPECT_EQ(ReadError("== A\na: PING\n -> PONG\n -> PONG\n"),
            "x:4: there are more replies than requests");
  EXPECT_EQ(ReadError("== A\n -> PONG\n"), "x:2: '->' stands behind a request");
}

TEST(ScenarioReading, RefusesWhatItDoesNotKnow) {
  const std::string begin = "== A\na: PING\n -> ";
  EXPECT_EQ(ReadError(begin + "1 2\n"), "x:3: '2' is too much");
  EXPECT_EQ(ReadError(begin + "[1 2]\n"), "x:3: ',' or ']' is missing");
  EXPECT_EQ(ReadError(begin + "[1,\n"), "x:3: a value is missing");
  EXPECT_EQ(ReadError(begin + "{a}\n"), "x:3: ':' is missing");
  EXPECT_EQ(ReadError(begin + "\"a\n"), "x:3: a double quote is not closed");
  EXPECT_EQ(ReadError(begin + "\"\\q\"\n"), "x:3: \\ is followed by none of n r t x \" and \\");
  EXPECT_EQ(ReadError(begin + "left 5\n"), "x:3: a duration is a number with ms, s, m, h or d");
  EXPECT_EQ(ReadError(begin + "\n"), "x:3: a value is missing");
  EXPECT_EQ(ReadError("== A\na does\n"),
            "x:2: behind a name stands ': REQUEST', ': <- REPLY', 'sends' or 'disconnects'");
  EXPECT_EQ(ReadError("== A\nadvance soon\n"), "x:2: a duration is a number with ms, s, m, h or d");
}

}  // namespace
}  // namespace fairlock::scenarios
