#include "server/services/event_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>

namespace fairlock::server {
namespace {

using record::HistoryRecord;

// A record with that number as its token and an owner of that many bytes.
class Sample {
 public:
  Sample(std::uint64_t number, std::size_t owner_bytes) {
    new (bytes_.data()) HistoryRecord{
        .what = 0, .token = number, .spans = 0, .lengths = owner_bytes, .number = number};
    std::memset(bytes_.data() + sizeof(HistoryRecord), static_cast<char>('a' + number % 26),
                owner_bytes);
  }
  const HistoryRecord& record() const {
    return *reinterpret_cast<const HistoryRecord*>(bytes_.data());
  }

 private:
  alignas(HistoryRecord) std::array<char, 16'000> bytes_{};
};

struct Popped {
  alignas(HistoryRecord) std::array<char, EventQueue::kRecordBytesMax> bytes;
  const HistoryRecord& record() const {
    return *reinterpret_cast<const HistoryRecord*>(bytes.data());
  }
};

TEST(EventQueueTest, ReturnsWhatWasPutInInOrder) {
  EventQueue queue(64 * 1024);
  Popped popped;
  EXPECT_FALSE(queue.Pop(popped.bytes.data()));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    queue.Take(Sample(i, i * 13 % 15'000).record());
    ASSERT_TRUE(queue.Pop(popped.bytes.data()));
    EXPECT_EQ(popped.record().token, i);
    EXPECT_EQ(popped.record().owner(),
              std::string(i * 13 % 15'000, static_cast<char>('a' + i % 26)));
    EXPECT_FALSE(queue.Pop(popped.bytes.data()));
  }
  EXPECT_EQ(queue.dropped(), 0U);
}

TEST(EventQueueTest, DropsAndCountsWhatDoesNotFit) {
  EventQueue queue(64 * 1024);
  for (std::uint64_t i = 0; i < 100; ++i) queue.Take(Sample(i, 1000).record());
  EXPECT_EQ(queue.dropped(), 100 - 64 * 1024 / (8 + sizeof(HistoryRecord) + 1000));
  Popped popped;
  std::uint64_t count = 0;
  while (queue.Pop(popped.bytes.data())) EXPECT_EQ(popped.record().token, count++);
  EXPECT_EQ(count + queue.dropped(), 100U);
  queue.Take(Sample(7, 1000).record());
  EXPECT_TRUE(queue.Pop(popped.bytes.data()));
}

TEST(EventQueueTest, LosesNothingSilentlyBetweenTwoThreads) {
  EventQueue queue(64 * 1024);
  constexpr std::uint64_t kCount = 200'000;
  std::thread pusher([&] {
    for (std::uint64_t i = 0; i < kCount; ++i) queue.Take(Sample(i, i % 200).record());
    queue.CountWritten(1);
  });
  Popped popped;
  std::uint64_t found = 0;
  std::uint64_t next = 0;
  bool is_over = false;
  while (!is_over) {
    is_over = queue.written() == 1;  // before the last look
    while (queue.Pop(popped.bytes.data())) {
      ASSERT_GE(popped.record().token, next);
      next = popped.record().token + 1;
      ASSERT_EQ(popped.record().owner().size(), popped.record().token % 200);
      ++found;
    }
  }
  pusher.join();
  EXPECT_EQ(found + queue.dropped(), kCount);
}

}  // namespace
}  // namespace fairlock::server
