#include "storage/replicated/beat.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlock::storage::replicated {
namespace {

Beat FullBeat() {
  return {.epoch = 7,
          .run = NewRunId(),
          .sequence = 1ULL << 40,
          .next_frame = 12'345,
          .state = Beat::State::kHandedOver,
          .leader = "machine-a",
          .address = "10.0.0.1:3248",
          .tls_port = 65'535,
          .successor = "machine-b"};
}

TEST(ReplicatedBeat, ComesBack) {
  const Beat beat = FullBeat();
  const auto decoded = DecodeBeat(EncodeBeat(beat));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value(), beat);
}

TEST(ReplicatedBeat, TwoRunsDiffer) { EXPECT_NE(NewRunId(), NewRunId()); }

TEST(ReplicatedBeat, EveryFlippedBitAndEveryCutIsRefused) {
  const std::string bytes = EncodeBeat(FullBeat());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(DecodeBeat(flipped).ok()) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeBeat(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeBeat(bytes + '\0').ok());
}

TEST(ReplicatedBeat, ALaterFormatIsNamed) {
  std::string bytes = EncodeBeat(FullBeat());
  bytes[0] = 3;
  const auto decoded = DecodeBeat(bytes);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.status().code(), StatusCode::kRefused);
  EXPECT_EQ(decoded.status().message(),
            "the register has format 3, but this version reads format 2");
}

}  // namespace
}  // namespace fairlock::storage::replicated
