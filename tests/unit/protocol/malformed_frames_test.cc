// The abuse table: no malformed frame, however it is split, yields a request.

#include "tests/unit/protocol/malformed_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "tests/unit/protocol/parse_in_pieces.h"

namespace fairlock::protocol {
namespace {

const RequestLimits& LimitsFor(const MalformedFrame& frame) {
  return frame.before_auth ? kBeforeAuth : kDefaultLimits;
}

std::string ErrorLine(const MalformedFrame& frame) {
  return frame.error.empty() ? "" : "ERR Protocol error: " + frame.error;
}

// Returns where to cut a frame: everywhere in a short one; in a long one, near its ends and at a
// sample of positions in between.
std::set<std::size_t> Cuts(const std::string& bytes) {
  constexpr std::size_t kEnds = 300;
  std::set<std::size_t> cuts;
  const std::size_t stride = bytes.size() <= 4'096 ? 1 : bytes.size() / 61;
  for (std::size_t cut = 0; cut <= bytes.size(); cut += stride) cuts.insert(cut);
  for (std::size_t cut = 0; cut <= std::min(kEnds, bytes.size()); ++cut) {
    cuts.insert(cut);
    cuts.insert(bytes.size() - cut);
  }
  return cuts;
}

TEST(MalformedFrames, AreManyAndNamedOnce) {
  std::set<std::string> names;
  for (const MalformedFrame& frame : MalformedFrames()) {
    EXPECT_TRUE(names.insert(frame.name).second) << frame.name;
  }
  EXPECT_GE(names.size(), 60u);
}

TEST(MalformedFrames, GiveTheirErrorAndNoRequest) {
  for (const MalformedFrame& frame : MalformedFrames()) {
    const ParsedBytes parsed = ParseWhole(frame.bytes, LimitsFor(frame));
    EXPECT_EQ(parsed.error, ErrorLine(frame)) << frame.name;
    EXPECT_TRUE(parsed.requests.empty()) << frame.name;
  }
}

TEST(MalformedFrames, GiveTheSameCutAtEveryByte) {
  for (const MalformedFrame& frame : MalformedFrames()) {
    for (const std::size_t cut : Cuts(frame.bytes)) {
      const ParsedBytes parsed = ParseCut(frame.bytes, cut, LimitsFor(frame));
      ASSERT_EQ(parsed.error, ErrorLine(frame)) << frame.name << " cut at " << cut;
      ASSERT_TRUE(parsed.requests.empty()) << frame.name << " cut at " << cut;
    }
  }
}

TEST(MalformedFrames, GiveTheSameByteByByte) {
  for (const MalformedFrame& frame : MalformedFrames()) {
    if (frame.bytes.size() > 4'096) continue;
    const ParsedBytes parsed = ParseInPieces(frame.bytes, 1, LimitsFor(frame));
    EXPECT_EQ(parsed.error, ErrorLine(frame)) << frame.name;
    EXPECT_TRUE(parsed.requests.empty()) << frame.name;
  }
}

// A wrong frame is refused before 64 KiB of it are stored. (A frame whose arguments are each small
// enough, but too large together, is valid until the last of them is announced.)
TEST(MalformedFrames, AreRefusedWithin64KiB) {
  for (const MalformedFrame& frame : MalformedFrames()) {
    if (frame.error.empty() || frame.error == "too big request") continue;
    const std::string_view start = std::string_view(frame.bytes).substr(0, 65'536);
    EXPECT_EQ(ParseWhole(start, LimitsFor(frame)).error, ErrorLine(frame)) << frame.name;
  }
}

TEST(MalformedFrames, DoNotTakeBackTheRequestsBefore) {
  const std::string ping = "*1\r\n$4\r\nPING\r\n";
  for (const MalformedFrame& frame : MalformedFrames()) {
    if (frame.name == "GET of HTTP/0.9" || frame.name == "GET behind an empty array") continue;
    const ParsedBytes parsed = ParseWhole(ping + frame.bytes, LimitsFor(frame));
    EXPECT_EQ(parsed.error, ErrorLine(frame)) << frame.name;
    EXPECT_EQ(parsed.requests.size(), 1u) << frame.name;
  }
}

TEST(MalformedFrames, SkippedBytesAreNotHeld) {
  EXPECT_EQ(ParseWhole(Repeated(1'000, "\r\n")).unfinished_bytes, 0u);
  EXPECT_EQ(ParseWhole(Repeated(1'000, "*0\r\n") + "*1").unfinished_bytes, 2u);
  EXPECT_EQ(ParseInPieces(Repeated(1'000, "*-1\r\n") + "PI", 7).unfinished_bytes, 2u);
}

}  // namespace
}  // namespace fairlock::protocol
