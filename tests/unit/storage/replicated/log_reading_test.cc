#include "storage/replicated/log_reading.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace fairlock::storage::replicated {
namespace {

constexpr int kFrames = 100;

class NoSink final : public RecordSink {
 public:
  Status Take(const StoredRecord&) override { return {}; }
};

// A log of frames without records, and the ranges that were read of it.
class Log {
 public:
  PageReader Pages() {
    return {.read = [this](const etcd::Get& get) { return Read(get); }, .frames_per_page = 16};
  }
  // The ranges, by the numbers of their frames.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges() const { return ranges_; }

  const PartitionKeys keys{"/fairlock/t/p/00/"};

 private:
  Result<etcd::RangeAnswer> Read(const etcd::Get& get) {
    const std::uint64_t end = keys.FrameNumber(get.range_end);
    ranges_.emplace_back(keys.FrameNumber(get.key), end);
    etcd::RangeAnswer answer;
    for (std::uint64_t number = keys.FrameNumber(get.key); number < end; ++number) {
      answer.found.push_back({.key = keys.FrameKey(number), .value = FramesOf("", 100).front()});
    }
    return answer;
  }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

TEST(LogReading, ARangeEndsWithItsPage) {
  Log log;
  NoSink sink;
  LogReading reading(log.keys, sink);
  RecordWriter writer;
  const std::string_view heading = EncodeHeading(HeadingOfNewLog({'t'}), writer);
  const StoredRecord record{RecordKind::kHeading, 0, 0, heading};
  ASSERT_TRUE(reading.TakeHeading(HeadingValue(/*first_frame=*/1, record)).ok());
  const Status status = ReadFrames(log.Pages(), log.keys, {.end = kFrames + 1}, reading);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(reading.next_frame(), kFrames + 1U);
  ASSERT_EQ(log.ranges().size(), 7U);
  EXPECT_EQ(log.ranges().front(), std::pair(1UL, 17UL));
  EXPECT_EQ(log.ranges().back(), std::pair(97UL, 101UL));
}

}  // namespace
}  // namespace fairlock::storage::replicated
