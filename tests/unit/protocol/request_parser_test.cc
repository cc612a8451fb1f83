#include "protocol/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/unit/protocol/parse_in_pieces.h"

namespace fairlock::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Request = std::vector<std::string>;

std::string BulkBytes(const std::string& bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}

std::string Multibulk(const Request& request) {
  std::string bytes = "*" + std::to_string(request.size()) + "\r\n";
  for (const std::string& argument : request) bytes += BulkBytes(argument);
  return bytes;
}

TEST(RequestParser, IsASmallValue) {
  EXPECT_LE(sizeof(RequestParser), 32u);
  EXPECT_TRUE(std::is_trivially_copyable_v<RequestParser>);
}

TEST(RequestParser, FindsArgumentsInPlace) {
  const std::string bytes =
      "*6\r\n$4\r\nLOCK\r\n$8\r\norder:42\r\n$8\r\nworker-1\r\n"
      "$2\r\nPX\r\n$5\r\n30000\r\n$3\r\nNEW\r\nnext";
  RequestParser parser;
  Arguments arguments;
  const ParseResult result = parser.Parse(bytes, kDefaultLimits, arguments);
  EXPECT_EQ(result.status, ParseStatus::kRequest);
  EXPECT_EQ(result.consumed, bytes.size() - 4);
  EXPECT_THAT(arguments.views(), ElementsAre("LOCK", "order:42", "worker-1", "PX", "30000", "NEW"));
  for (const std::string_view argument : arguments) {
    EXPECT_GE(argument.data(), bytes.data());
    EXPECT_LE(argument.data() + argument.size(), bytes.data() + bytes.size());
  }
}

TEST(RequestParser, TakesEveryLengthAndEveryByte) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
  for (std::size_t size : {0, 1, 9, 10, 11, 99, 100, 101, 255, 256, 1000, 9999, 10000, 100000}) {
    std::string argument;
    while (argument.size() < size) argument += every_byte;
    argument.resize(size);
    const Request request = {"LOCK", argument, "", argument};
    EXPECT_THAT(ParseWhole(Multibulk(request)).requests, ElementsAre(request)) << size;
  }
}

TEST(RequestParser, LineEndsInsideAnArgumentMeanNothing) {
  const Request request = {"\r\n", "$4\r\nPING\r\n", "*1\r\n", "\n", "\r"};
  EXPECT_THAT(ParseWhole(Multibulk(request)).requests, ElementsAre(request));
}

TEST(RequestParser, FindsOneRequestAfterTheOther) {
  const std::string bytes =
      "*1\r\n$4\r\nPING\r\nECHO hi\r\n*2\r\n$4\r\nECHO\r\n$2\r\nho\r\nPING\n*1";
  const ParsedBytes parsed = ParseWhole(bytes);
  EXPECT_THAT(parsed.requests, ElementsAre(Request{"PING"}, Request{"ECHO", "hi"},
                                           Request{"ECHO", "ho"}, Request{"PING"}));
  EXPECT_EQ(parsed.unfinished_bytes, 2u);
}

TEST(RequestParser, SkipsEmptyArraysAndEmptyLines) {
  const std::string ping = "*1\r\n$4\r\nPING\r\n";
  const std::string bytes =
      "\r\n\n*0\r\n" + ping + "  \t\r\n*-1\r\n" + ping + "*-99\r\n\r\n" + ping;
  const ParsedBytes parsed = ParseWhole(bytes);
  EXPECT_EQ(parsed.requests.size(), 3u);
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.unfinished_bytes, 0u);
}

TEST(RequestParser, TellsWhatItSkippedWhileItNeedsMore) {
  RequestParser parser;
  Arguments arguments;
  const ParseResult first = parser.Parse("\r\n*0\r\n*1\r\n$4\r\nPI", kDefaultLimits, arguments);
  EXPECT_EQ(first.status, ParseStatus::kNeedMore);
  EXPECT_EQ(first.consumed, 6u);
  const ParseResult second = parser.Parse("*1\r\n$4\r\nPING\r\n", kDefaultLimits, arguments);
  EXPECT_EQ(second.status, ParseStatus::kRequest);
  EXPECT_EQ(second.consumed, 14u);
}

TEST(RequestParser, ReportsAWrongByteAsSoonAsItIsThere) {
  EXPECT_EQ(ParseWhole("*x").error, "ERR Protocol error: invalid multibulk length");
  EXPECT_EQ(ParseWhole("*2\r\n$4\r\nLOCK\r\nk").error, "ERR Protocol error: expected '$', got 'k'");
  EXPECT_EQ(ParseWhole("*1\r\n$4x").error, "ERR Protocol error: invalid bulk length");
  EXPECT_EQ(ParseWhole("\x16").error, "ERR Protocol error: TLS handshake; this port speaks RESP");
}

TEST(RequestParser, GoesOnWithBytesThatMoved) {
  const Request request = {"LOCK", std::string(5'000, 'k'), "owner", std::string(123, 'm')};
  const std::string bytes = Multibulk(request);
  for (const std::size_t piece_bytes : {1, 2, 3, 7, 100, 4'999}) {
    EXPECT_THAT(ParseInPieces(bytes, piece_bytes).requests, ElementsAre(request)) << piece_bytes;
  }
}

TEST(RequestParser, GoesOnAfterARequestInPieces) {
  PieceFeeder feeder;
  for (const std::string_view piece :
       {"*2\r\n$4\r\nEC", "HO\r\n$2\r\nhi\r\nPI", "NG\r\n*", "1\r\n", "$4\r\nPING\r\n"}) {
    feeder.Feed(piece);
  }
  EXPECT_THAT(feeder.parsed().requests,
              ElementsAre(Request{"ECHO", "hi"}, Request{"PING"}, Request{"PING"}));
}

// The limits

RequestLimits SmallLimits() {
  return {.arguments_max = 3,
          .argument_bytes_max = 20,
          .request_bytes_max = 60,
          .inline_bytes_max = 16};
}

TEST(RequestParser, AdmitsAsManyArgumentsAsTheLimit) {
  EXPECT_THAT(ParseWhole(Multibulk({"a", "b", "c"}), SmallLimits()).requests,
              ElementsAre(Request{"a", "b", "c"}));
  const ParsedBytes parsed = ParseWhole("*4\r\n", SmallLimits());
  EXPECT_EQ(parsed.error, "ERR Protocol error: invalid multibulk length");
}

TEST(RequestParser, AdmitsAnArgumentAsLongAsTheLimit) {
  const Request largest = {"a", std::string(20, 'x')};
  EXPECT_THAT(ParseWhole(Multibulk(largest), SmallLimits()).requests, ElementsAre(largest));
  EXPECT_EQ(ParseWhole("*1\r\n$21\r\n", SmallLimits()).error,
            "ERR Protocol error: invalid bulk length");
}

TEST(RequestParser, ChecksTheLimitOfShortArgumentsToo) {
  RequestLimits limits;
  limits.argument_bytes_max = 4;
  EXPECT_EQ(ParseWhole(Multibulk({"PINGS"}), limits).error,
            "ERR Protocol error: invalid bulk length");
  EXPECT_THAT(ParseWhole(Multibulk({"PING"}), limits).requests, ElementsAre(Request{"PING"}));
}

TEST(RequestParser, AdmitsARequestAsLongAsTheLimit) {
  const Request largest = {std::string(20, 'a'), std::string(18, 'b')};
  ASSERT_EQ(Multibulk(largest).size(), 56u);
  RequestLimits limits = SmallLimits();
  limits.request_bytes_max = 56;
  EXPECT_THAT(ParseWhole(Multibulk(largest), limits).requests, ElementsAre(largest));
  limits.request_bytes_max = 55;
  EXPECT_EQ(ParseWhole(Multibulk(largest), limits).error, "ERR Protocol error: too big request");
  // The announced length alone is enough to cause the error.
  EXPECT_EQ(ParseWhole("*2\r\n" + BulkBytes(largest[0]) + "$18\r\n", limits).error,
            "ERR Protocol error: too big request");
}

TEST(RequestParser, CountsTheBytesOfOneRequestOnly) {
  const Request request = {std::string(20, 'a'), std::string(18, 'b')};
  const std::string bytes = Multibulk(request) + Multibulk(request) + Multibulk(request);
  EXPECT_THAT(ParseWhole(bytes, SmallLimits()).requests, ElementsAre(request, request, request));
}

TEST(RequestParser, AdmitsALineAsLongAsTheLimit) {
  EXPECT_THAT(ParseWhole("ECHO 1234567890\n", SmallLimits()).requests,
              ElementsAre(Request{"ECHO", "1234567890"}));
  EXPECT_EQ(ParseWhole("ECHO 12345678901\n", SmallLimits()).error,
            "ERR Protocol error: too big inline request");
  EXPECT_EQ(ParseWhole("ECHO 123456789", SmallLimits()).error, "");
  EXPECT_EQ(ParseWhole("ECHO 12345678901", SmallLimits()).error,
            "ERR Protocol error: too big inline request");
}

TEST(RequestParser, AdmitsTheLargestRequestOfTheDefaultLimits) {
  const Request most(kDefaultLimits.arguments_max, "k");
  EXPECT_THAT(ParseWhole(Multibulk(most)).requests, ElementsAre(most));
  EXPECT_THAT(ParseInPieces(Multibulk(most), 1'000).requests, ElementsAre(most));
  const Request longest = {"SET", std::string(kDefaultLimits.argument_bytes_max, 'v')};
  EXPECT_THAT(ParseInPieces(Multibulk(longest), 65'536).requests, ElementsAre(longest));
}

TEST(RequestParser, AdmitsHelloWithEveryOptionBeforeAuth) {
  const Request hello = {"HELLO", "3", "AUTH", "user", std::string(40'000, 'p'), "SETNAME", "me"};
  EXPECT_THAT(ParseWhole(Multibulk(hello), kBeforeAuth).requests, ElementsAre(hello));
  const Request most(10, "x");
  EXPECT_THAT(ParseWhole(Multibulk(most), kBeforeAuth).requests, ElementsAre(most));
}

TEST(RequestParser, FollowsLimitsThatChangeBetweenRequests) {
  const std::string eleven = Multibulk(Request(11, "x"));
  RequestParser parser;
  Arguments arguments;
  const std::string auth = Multibulk({"AUTH", "secret"});
  ASSERT_EQ(parser.Parse(auth + eleven, kBeforeAuth, arguments).consumed, auth.size());
  EXPECT_EQ(parser.Parse(eleven, kDefaultLimits, arguments).status, ParseStatus::kRequest);
  EXPECT_EQ(arguments.size(), 11u);
  EXPECT_EQ(parser.Parse(eleven, kBeforeAuth, arguments).status, ParseStatus::kError);
}

TEST(RequestParser, FollowsLimitsThatChangeWithinARequest) {
  const std::string eleven = Multibulk(Request(11, "x"));
  RequestParser parser;
  Arguments arguments;
  const std::string_view start = std::string_view(eleven).substr(0, 20);
  ASSERT_EQ(parser.Parse(start, kDefaultLimits, arguments).status, ParseStatus::kNeedMore);
  EXPECT_EQ(parser.Parse(eleven, kBeforeAuth, arguments).status, ParseStatus::kError);
}

// HTTP and the like

constexpr std::string_view kHttpError = "ERR Protocol error: HTTP request; this port speaks RESP";

TEST(RequestParser, GetOfAKeyIsACommand) {
  EXPECT_THAT(ParseWhole("GET order:42\r\n").requests, ElementsAre(Request{"GET", "order:42"}));
  EXPECT_THAT(ParseWhole("GET\r\n").requests, ElementsAre(Request{"GET"}));
  EXPECT_THAT(ParseWhole("GET HTTP/1.1\r\n").requests, ElementsAre(Request{"GET", "HTTP/1.1"}));
  EXPECT_THAT(ParseWhole("PING\r\nGET /a\r\n").requests,
              ElementsAre(Request{"PING"}, Request{"GET", "/a"}));
  EXPECT_THAT(ParseWhole(Multibulk({"GET", "/a"})).requests, ElementsAre(Request{"GET", "/a"}));
}

TEST(RequestParser, LockOfAPathIsACommand) {
  EXPECT_THAT(ParseWhole("LOCK /file HTTP/\r\n").requests,
              ElementsAre(Request{"LOCK", "/file", "HTTP/"}));
  EXPECT_THAT(ParseWhole(Multibulk({"LOCK", "/file", "HTTP/1.1"})).requests,
              ElementsAre(Request{"LOCK", "/file", "HTTP/1.1"}));
}

TEST(RequestParser, NothingOfAnHttpRequestIsACommand) {
  const std::string post =
      "POST / HTTP/1.1\r\nHost: localhost:3247\r\nContent-Length: 50\r\n\r\n"
      "LOCK key owner\r\n*2\r\n$6\r\nUNLOCK\r\n";
  for (std::size_t cut = 0; cut <= post.size(); ++cut) {
    const ParsedBytes parsed = ParseCut(post, cut);
    ASSERT_THAT(parsed.requests, IsEmpty()) << cut;
    ASSERT_EQ(parsed.error, kHttpError) << cut;
  }
}

TEST(RequestParser, TheRequestLineAloneDecides) {
  EXPECT_EQ(ParseWhole("PUT /key HTTP/1.1\r\n").error, kHttpError);
  EXPECT_EQ(ParseWhole("GET / HTTP/1.1\r\n").error, kHttpError);
  EXPECT_EQ(ParseWhole("GET / HTTP/1.1\r").requests.size(), 0u);
}

TEST(RequestParser, AHostHeaderEndsItAtAnyTime) {
  const ParsedBytes parsed = ParseWhole("PING\r\nPING\r\nHost: localhost\r\nPING\r\n");
  EXPECT_EQ(parsed.requests.size(), 2u);
  EXPECT_EQ(parsed.error, kHttpError);
}

}  // namespace
}  // namespace fairlock::protocol
