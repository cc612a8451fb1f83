#include "server/record/record_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <string>

namespace fairlock::record {
namespace {

constexpr std::size_t kBytes = 200'000;

RecordRing::Position Append(RecordRing& ring, const std::string& text, std::size_t chain = 0) {
  ring.MakeRoom();
  std::memcpy(ring.Append(text.size(), chain), text.data(), text.size());
  return ring.newest();
}

std::string TextAt(const RecordRing& ring, RecordRing::Position position, std::size_t bytes) {
  return {ring.At(position), bytes};
}

TEST(RecordRing, HasNothingAtFirst) {
  const RecordRing ring(kBytes, 4);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.newest(), RecordRing::kNone);
  EXPECT_EQ(ring.oldest(), RecordRing::kNone);
  EXPECT_EQ(ring.NewestOf(3), RecordRing::kNone);
  EXPECT_FALSE(ring.Has(RecordRing::kNone));
  EXPECT_EQ(ring.NewestNotAfter([](RecordRing::Position) { return true; }), RecordRing::kNone);
  ring.CheckInvariants();
}

TEST(RecordRing, GoesBackFromTheNewest) {
  RecordRing ring(kBytes, 1);
  const auto first = Append(ring, "one");
  const auto second = Append(ring, "another");
  const auto third = Append(ring, "");
  EXPECT_EQ(ring.newest(), third);
  EXPECT_EQ(ring.Before(third), second);
  EXPECT_EQ(ring.Before(second), first);
  EXPECT_EQ(ring.Before(first), RecordRing::kNone);
  EXPECT_EQ(TextAt(ring, first, 3), "one");
  EXPECT_EQ(TextAt(ring, second, 7), "another");
  EXPECT_EQ(ring.count(), 3U);
}

TEST(RecordRing, GoesBackInAChain) {
  RecordRing ring(kBytes, 2);
  const auto first = Append(ring, "a", 0);
  Append(ring, "b", 1);
  const auto third = Append(ring, "c", 0);
  EXPECT_EQ(ring.NewestOf(0), third);
  EXPECT_EQ(ring.BeforeInChain(third), first);
  EXPECT_EQ(ring.BeforeInChain(first), RecordRing::kNone);
}

TEST(RecordRing, KeepsTheNewestRecordsWhole) {
  RecordRing ring(kBytes, 8);
  std::mt19937 random(1);
  struct Written {
    RecordRing::Position position;
    std::string text;
  };
  std::deque<Written> written;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t bytes = random() % 50 == 0 ? random() % 20'000 : random() % 200;
    const std::string text(bytes, static_cast<char>('a' + i % 26));
    written.push_back({Append(ring, text, random() % 8), text});
    while (!ring.Has(written.front().position)) written.pop_front();
    ASSERT_LE(ring.used_bytes(), kBytes);
    if (i % 100 != 0) continue;
    ring.CheckInvariants();
    ASSERT_EQ(ring.count(), written.size());
    ASSERT_EQ(ring.oldest(), written.front().position);
    auto position = ring.newest();
    for (auto expected = written.rbegin(); expected != written.rend(); ++expected) {
      ASSERT_EQ(position, expected->position);
      ASSERT_EQ(TextAt(ring, position, expected->text.size()), expected->text);
      position = ring.Before(position);
    }
  }
  // No more space is wasted than a record of the maximum size can leave unused at the end of the
  // buffer.
  EXPECT_GT(ring.used_bytes(), kBytes - 4 * RecordRing::kRecordBytesMax);
}

TEST(RecordRing, FindsAPlaceInTheMiddle) {
  RecordRing ring(kBytes, 1);
  for (int i = 0; i < 10'000; ++i) Append(ring, std::to_string(i));
  const RecordRing::Position oldest = ring.oldest();
  for (RecordRing::Position wanted = ring.newest(); wanted != oldest;
       wanted = ring.Before(wanted)) {
    const auto is_after = [&](RecordRing::Position position) { return position > wanted; };
    const RecordRing::Position found = ring.NewestNotAfter(is_after);
    ASSERT_GE(found, wanted);
    ASSERT_LT(found - wanted, 16 * 1024U + RecordRing::kRecordBytesMax);
  }
  EXPECT_EQ(ring.NewestNotAfter([](RecordRing::Position) { return false; }), ring.newest());
}

TEST(RecordRing, AChainEndsWhereItsRecordsAreOverwritten) {
  RecordRing ring(kBytes, 2);
  const auto lonely = Append(ring, "lonely", 1);
  while (ring.Has(lonely)) Append(ring, std::string(1000, 'x'), 0);
  EXPECT_EQ(ring.NewestOf(1), RecordRing::kNone);
  const auto again = Append(ring, "again", 1);
  EXPECT_EQ(ring.NewestOf(1), again);
  EXPECT_EQ(ring.BeforeInChain(again), RecordRing::kNone);
}

}  // namespace
}  // namespace fairlock::record
