// However the bytes of a connection are split, they give the same requests.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_writer.h"
#include "tests/unit/protocol/malformed_frames.h"
#include "tests/unit/protocol/parse_in_pieces.h"

namespace fairlock::protocol {
namespace {

constexpr std::uint64_t kSeed = 3247;

std::vector<std::string> Corpus() {
  std::string locks;
  AppendRequest(locks, {"LOCK", "order:42", "worker-1", "PX", "30000", "WAIT", "10s"});
  AppendRequest(locks, {"UNLOCK", "order:42", "worker-1"});
  std::string lengths;
  for (const std::size_t size : {0, 1, 9, 10, 99, 100, 101, 700}) {
    AppendRequest(lengths, {"ECHO", std::string(size, 'x'), ""});
  }
  return {
      locks,
      lengths,
      "*1\r\n$4\r\nPING\r\nPING\r\n\r\n*0\r\n*-1\r\n   \r\nECHO \"a\\x41\\n\" 'b\\'c'\r\nPING\n",
      "GET key\r\nGET /path\r\nLOCK \"a b\" owner PX 30000\r\n",
      "PING\r\n*2\r\n$4\r\nECHO\r\n$-1\r\nPING\r\n",
      "PING\r\nHost: x\r\nPING\r\n",
      "\r\n\r\nPOST / HTTP/1.1\r\n\r\nPING\r\n",
      std::string("PING\r\nEC\0HO\r\nPING\r\n", 19),
  };
}

TEST(Split, GivesTheSameCutAtEveryByte) {
  for (const std::string& bytes : Corpus()) {
    const ParsedBytes whole = ParseWhole(bytes);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      ASSERT_EQ(ParseCut(bytes, cut), whole) << bytes << "\ncut at " << cut;
    }
  }
}

TEST(Split, GivesTheSameInPiecesOfEverySize) {
  for (const std::string& bytes : Corpus()) {
    const ParsedBytes whole = ParseWhole(bytes);
    for (std::size_t piece_bytes = 1; piece_bytes <= 40; ++piece_bytes) {
      ASSERT_EQ(ParseInPieces(bytes, piece_bytes), whole) << bytes << "\nby " << piece_bytes;
    }
  }
}

TEST(Split, GivesTheSameCutAtEveryTwoBytes) {
  for (const std::string& bytes : Corpus()) {
    if (bytes.size() > 200) continue;
    const ParsedBytes whole = ParseWhole(bytes);
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
      for (std::size_t second = first; second <= bytes.size(); ++second) {
        PieceFeeder feeder;
        feeder.Feed(std::string_view(bytes).substr(0, first));
        feeder.Feed(std::string_view(bytes).substr(first, second - first));
        feeder.Feed(std::string_view(bytes).substr(second));
        ASSERT_EQ(feeder.parsed(), whole) << bytes << "\ncut at " << first << ", " << second;
      }
    }
  }
}

class RandomBytes {
 public:
  std::size_t Below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  // Draws random bytes, many of which mean something to the parser.
  std::string Draw(std::size_t size) {
    constexpr std::string_view kMeaningful = "*$\r\n\r\n\r\n0123456789-+\"'\\ x:GET/";
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) {
      const bool any = Below(8) == 0;
      bytes.push_back(any ? static_cast<char>(Below(256)) : kMeaningful[Below(kMeaningful.size())]);
    }
    return bytes;
  }

  // Replaces, removes, duplicates or inserts a few bytes.
  std::string Mutate(std::string bytes) {
    for (std::size_t changes = 1 + Below(4); changes != 0 && !bytes.empty(); --changes) {
      const std::size_t at = Below(bytes.size());
      switch (Below(4)) {
        case 0:
          bytes[at] = Draw(1)[0];
          break;
        case 1:
          bytes.erase(at, 1 + Below(4));
          break;
        case 2:
          bytes.insert(at, bytes.substr(at, 1 + Below(12)));
          break;
        default:
          bytes.insert(at, Draw(1 + Below(3)));
          break;
      }
    }
    return bytes;
  }

  ParsedBytes ParseInRandomPieces(std::string_view bytes, const RequestLimits& limits) {
    PieceFeeder feeder(limits);
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, 1 + Below(bytes.size()));
      feeder.Feed(piece);
      bytes.remove_prefix(piece.size());
    }
    return feeder.parsed();
  }

 private:
  std::mt19937_64 random_{kSeed};
};

// The limits are small enough for random bytes to reach them.
constexpr RequestLimits kSmallLimits{
    .arguments_max = 5, .argument_bytes_max = 30, .request_bytes_max = 90, .inline_bytes_max = 50};

TEST(Split, RandomBytesGiveTheSameHoweverCut) {
  RandomBytes random;
  std::size_t requests = 0;
  std::size_t errors = 0;
  for (int round = 0; round < 30'000; ++round) {
    const std::string bytes = random.Draw(1 + random.Below(120));
    const ParsedBytes whole = ParseWhole(bytes, kSmallLimits);
    ASSERT_EQ(random.ParseInRandomPieces(bytes, kSmallLimits), whole) << "round " << round;
    ASSERT_LT(whole.unfinished_bytes, kSmallLimits.request_bytes_max + 40);
    requests += whole.requests.size();
    errors += whole.error.empty() ? 0 : 1;
  }
  EXPECT_GT(requests, 1'000u);
  EXPECT_GT(errors, 1'000u);
}

TEST(Split, MutatedFramesGiveTheSameHoweverCut) {
  RandomBytes random;
  const std::vector<std::string> corpus = Corpus();
  std::size_t requests = 0;
  std::size_t errors = 0;
  for (int round = 0; round < 30'000; ++round) {
    const std::string bytes = random.Mutate(corpus[random.Below(corpus.size())]);
    const RequestLimits& limits = random.Below(2) == 0 ? kDefaultLimits : kSmallLimits;
    const ParsedBytes whole = ParseWhole(bytes, limits);
    ASSERT_EQ(random.ParseInRandomPieces(bytes, limits), whole) << "round " << round;
    requests += whole.requests.size();
    errors += whole.error.empty() ? 0 : 1;
  }
  EXPECT_GT(requests, 10'000u);
  EXPECT_GT(errors, 5'000u);
}

TEST(Split, MutatedMalformedFramesGiveTheSameHoweverCut) {
  RandomBytes random;
  std::vector<MalformedFrame> frames = MalformedFrames();
  std::erase_if(frames, [](const MalformedFrame& frame) { return frame.bytes.size() > 4'096; });
  for (int round = 0; round < 20'000; ++round) {
    const std::string bytes = random.Mutate(frames[random.Below(frames.size())].bytes);
    const ParsedBytes whole = ParseWhole(bytes, kSmallLimits);
    ASSERT_EQ(random.ParseInRandomPieces(bytes, kSmallLimits), whole) << "round " << round;
  }
}

// Whatever bytes they contain, arguments are read back exactly as they were written.
TEST(Split, RandomArgumentsComeBackHoweverCut) {
  RandomBytes random;
  for (int round = 0; round < 5'000; ++round) {
    std::vector<std::string> request = {"LOCK"};
    while (random.Below(5) != 0) request.push_back(random.Draw(random.Below(150)));
    const std::vector<std::string_view> views(request.begin(), request.end());
    std::string bytes;
    AppendRequest(bytes, views);
    const ParsedBytes parsed = random.ParseInRandomPieces(bytes, kDefaultLimits);
    ASSERT_EQ(parsed.requests.size(), 1u) << "round " << round;
    ASSERT_EQ(parsed.requests[0], request) << "round " << round;
    ASSERT_EQ(parsed.unfinished_bytes, 0u);
  }
}

}  // namespace
}  // namespace fairlock::protocol
