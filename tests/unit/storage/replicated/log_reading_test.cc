#include "storage/replicated/log_reading.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fairlock::storage::replicated {
namespace {

constexpr std::uint64_t kGeneration = 1;

// Names the records that it receives: "h1", "s0", "b17".
class NamingSink final : public RecordSink {
 public:
  Status Take(const StoredRecord& record) override {
    names += static_cast<char>(record.kind) + std::to_string(record.number) + " ";
    return {};
  }

  std::string names;
};

// A log that begins with frame 1, and the ranges that were read of it.
class Log {
 public:
  // Adds a group of these records, such as "b1 s0", in several frames.
  void Add(const std::string& names) {
    std::string group;
    std::istringstream words(names);
    for (std::string name; words >> name;) {
      const bool is_batch = name[0] == 'b';
      AppendRecord(group, {.kind = is_batch ? RecordKind::kBatch : RecordKind::kSlice,
                           .generation = is_batch ? 0 : kGeneration,
                           .number = std::stoul(name.substr(1)),
                           .bytes = "twenty bytes of text"});
    }
    for (std::string& frame : FramesOf(group, 30)) frames_.push_back(std::move(frame));
  }
  // Adds a frame with one batch of this many bytes.
  void AddFrame(std::size_t bytes) {
    std::string group;
    const std::string text(bytes, 'b');
    AppendRecord(group, {.kind = RecordKind::kBatch, .number = 1, .bytes = text});
    for (std::string& frame : FramesOf(group)) frames_.push_back(std::move(frame));
  }
  PageReader Pages() {
    return {.read = [this](const etcd::Get& get) { return Read(get); }, .frames_per_page = 16};
  }
  std::uint64_t end() const { return frames_.size() + 1; }
  // The ranges, by the numbers of their frames.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges() const { return ranges_; }

  const PartitionKeys keys{"/fairlock/t/p/00/"};

 private:
  Result<etcd::RangeAnswer> Read(const etcd::Get& get) {
    const std::uint64_t end = keys.FrameNumber(get.range_end);
    ranges_.emplace_back(keys.FrameNumber(get.key), end);
    etcd::RangeAnswer answer;
    for (std::uint64_t number = keys.FrameNumber(get.key); number < end; ++number) {
      answer.found.push_back({.key = keys.FrameKey(number), .value = frames_.at(number - 1)});
    }
    return answer;
  }

  std::vector<std::string> frames_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

void TakeHeading(LogReading& reading, std::uint64_t slices) {
  SnapshotHeading heading = HeadingOfNewLog({'t'});
  heading.generation = kGeneration;
  heading.slices = slices;
  RecordWriter writer;
  const StoredRecord record{RecordKind::kHeading, kGeneration, kGeneration,
                            EncodeHeading(heading, writer)};
  const Status status = reading.TakeHeading(HeadingValue(/*first_frame=*/1, record));
  ASSERT_TRUE(status.ok()) << status.message();
}

TEST(LogReading, ARangeEndsWithItsPage) {
  Log log;
  for (int i = 0; i < 100; ++i) log.Add("");
  NamingSink sink;
  LogReading reading(log.keys, sink);
  TakeHeading(reading, 0);
  const Status status = ReadFrames(log.Pages(), log.keys, {.end = log.end()}, reading);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(reading.next_frame(), 101U);
  // Pages of small frames become larger.
  ASSERT_EQ(log.ranges().size(), 3U);
  EXPECT_EQ(log.ranges()[0], std::pair(1UL, 17UL));
  EXPECT_EQ(log.ranges()[1], std::pair(17UL, 49UL));
  EXPECT_EQ(log.ranges()[2], std::pair(49UL, 101UL));
}

TEST(LogReading, ThePagesOfALongLogOfSmallFramesAreFew) {
  Log log;
  for (int i = 0; i < 10'000; ++i) log.Add("");
  NamingSink sink;
  LogReading reading(log.keys, sink);
  TakeHeading(reading, 0);
  ASSERT_TRUE(ReadFrames(log.Pages(), log.keys, {.end = log.end()}, reading).ok());
  EXPECT_LE(log.ranges().size(), 85U);
  for (const auto& [begin, end] : log.ranges()) EXPECT_LE(end - begin, 128U);
}

TEST(LogReading, PagesOfLargeFramesDoNotGrow) {
  Log log;
  for (int i = 0; i < 100; ++i) log.AddFrame(10'000);
  NamingSink sink;
  LogReading reading(log.keys, sink);
  TakeHeading(reading, 0);
  ASSERT_TRUE(ReadFrames(log.Pages(), log.keys, {.end = log.end()}, reading).ok());
  EXPECT_EQ(log.ranges().size(), 7U);
}

TEST(LogReading, BatchesThatAreTooManyToKeepAreReadAgain) {
  for (const std::size_t kept_bytes_max : {0UL, 1UL, 100UL, 200UL, 300UL, kKeptBytesMax}) {
    SCOPED_TRACE(kept_bytes_max);
    Log log;
    for (const char* group : {"b1 s0", "b2", "b3 b4", "s1 b5", "b6", "b7 s2 b8", "b9", "b10"}) {
      log.Add(group);
    }
    NamingSink sink;
    LogReading reading(log.keys, sink, kept_bytes_max);
    TakeHeading(reading, 3);
    const Status status = ReadFrames(log.Pages(), log.keys, {.end = log.end()}, reading);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(sink.names, "h1 s0 s1 s2 b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 ");
    EXPECT_EQ(reading.next_frame(), log.end());
    EXPECT_EQ(log.ranges().size(), kept_bytes_max < kKeptBytesMax ? 2U : 1U);
    // A later snapshot needs the group of b3 and b4, which begins with frame 4.
    EXPECT_EQ(reading.TakeGroups().FirstFrameOf(0, 4, log.end()), 4U);
  }
}

}  // namespace
}  // namespace fairlock::storage::replicated
