#include "storage/replicated/frame.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "storage/byte_coding.h"
#include "storage/crc32c.h"

namespace fairlock::storage::replicated {
namespace {

constexpr std::size_t kHeaderBytes = 6;  // version, flags, checksum

struct Taken {
  RecordKind kind;
  std::uint64_t generation;
  std::uint64_t number;
  std::string bytes;

  friend bool operator==(const Taken&, const Taken&) = default;
};

class Collect final : public RecordSink {
 public:
  Status Take(const StoredRecord& record) override {
    taken.push_back({record.kind, record.generation, record.number, std::string(record.bytes)});
    return {};
  }

  std::vector<Taken> taken;
};

std::vector<Taken> ThreeRecords() {
  return {{RecordKind::kBatch, 0, 17, "a batch"},
          {RecordKind::kSlice, 3, 0, std::string(3'000, 's')},
          {RecordKind::kBatch, 0, 18, ""}};
}

std::string GroupOf(const std::vector<Taken>& records) {
  std::string group;
  for (const Taken& record : records) {
    AppendRecord(group, {record.kind, record.generation, record.number, record.bytes});
  }
  return group;
}

// Returns the records of all complete groups in these frames; nullopt if a frame is damaged.
std::optional<std::vector<Taken>> RecordsIn(const std::vector<std::string>& frames) {
  GroupReader reader;
  Collect sink;
  for (const std::string& frame : frames) {
    if (!reader.Add(frame, "frame").ok()) return std::nullopt;
    if (reader.is_complete() && !ReadRecords(reader.group(), sink).ok()) return std::nullopt;
  }
  return sink.taken;
}

TEST(ReplicatedFrame, AGroupComesBackFromFramesOfAnySize) {
  const std::string group = GroupOf(ThreeRecords());
  for (const std::size_t bytes_max : {7UL, 8UL, 100UL, group.size() + 5, group.size() + 6}) {
    const std::vector<std::string> frames = FramesOf(group, bytes_max);
    EXPECT_EQ(frames.size(), (group.size() + bytes_max - 7) / (bytes_max - 6)) << bytes_max;
    for (const std::string& frame : frames) EXPECT_LE(frame.size(), bytes_max);
    EXPECT_EQ(RecordsIn(frames), ThreeRecords()) << bytes_max;
  }
}

TEST(ReplicatedFrame, AGroupWithoutRecordsIsOneFrame) {
  const std::vector<std::string> frames = FramesOf("");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(RecordsIn(frames), std::vector<Taken>());
}

TEST(ReplicatedFrame, AGroupWithoutItsLastFrameHasNoEffect) {
  std::vector<std::string> frames = FramesOf(GroupOf(ThreeRecords()), 1'000);
  ASSERT_GT(frames.size(), 2U);
  frames.pop_back();
  EXPECT_EQ(RecordsIn(frames), std::vector<Taken>());
  // The group of the next leader follows the incomplete one.
  const std::vector<Taken> next = {{RecordKind::kBatch, 0, 17, "another batch 17"}};
  frames.push_back(FramesOf(GroupOf(next)).front());
  EXPECT_EQ(RecordsIn(frames), next);
}

TEST(ReplicatedFrame, AMissingFirstFrameIsDamage) {
  std::vector<std::string> frames = FramesOf(GroupOf(ThreeRecords()), 1'000);
  frames.erase(frames.begin());
  EXPECT_EQ(RecordsIn(frames), std::nullopt);
}

TEST(ReplicatedFrame, EveryFlippedBitIsDamage) {
  const std::string frame = FramesOf(GroupOf({{RecordKind::kBatch, 0, 1, "content"}})).front();
  for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    std::string flipped = frame;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(RecordsIn({flipped}), std::nullopt) << bit;
  }
}

TEST(ReplicatedFrame, EveryCutFrameIsDamage) {
  const std::string frame = FramesOf(GroupOf({{RecordKind::kBatch, 0, 1, "content"}})).front();
  for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
    EXPECT_EQ(RecordsIn({frame.substr(0, bytes)}), std::nullopt) << bytes;
  }
}

TEST(ReplicatedFrame, RandomGroupsNeverCrashTheReader) {
  std::mt19937_64 chance(1);
  Collect sink;
  for (int i = 0; i < 20'000; ++i) {
    std::string group = GroupOf(ThreeRecords());
    for (int n = 0; n < 3; ++n) group[chance() % 40] = static_cast<char>(chance());
    group.resize(chance() % group.size());
    const Status status = ReadRecords(group, sink);
    EXPECT_TRUE(status.ok() || status.is_unreadable());
  }
}

TEST(ReplicatedFrame, ALaterFormatIsNoDamage) {
  std::string frame = FramesOf(GroupOf({{RecordKind::kBatch, 0, 1, "content"}})).front();
  frame[0] = 2;
  GroupReader reader(frame.size());
  EXPECT_EQ(reader.Add(frame, "frame 7").code(), StatusCode::kDamaged);  // a flipped bit
  const std::uint32_t crc =
      ExtendCrc32c(ExtendCrc32c(0, frame.substr(0, 2)), frame.substr(kHeaderBytes));
  WriteFixed(frame.data() + 2, MaskedCrc32c(crc));
  EXPECT_EQ(reader.Add(frame, "frame 7").code(), StatusCode::kNewer);
}

TEST(ReplicatedFrame, AGroupThatIsTooLongIsDamage) {
  const std::vector<std::string> frames = FramesOf(std::string(100, 'x'), 46);
  ASSERT_EQ(frames.size(), 3U);
  GroupReader exact(100);
  for (const std::string& frame : frames) EXPECT_TRUE(exact.Add(frame, "frame 7").ok());
  EXPECT_TRUE(exact.is_complete());
  GroupReader reader(99);
  EXPECT_TRUE(reader.Add(frames[0], "frame 7").ok());
  EXPECT_TRUE(reader.Add(frames[1], "frame 8").ok());
  const Status status = reader.Add(frames[2], "frame 9");
  EXPECT_EQ(status.code(), StatusCode::kDamaged);
  EXPECT_EQ(status.message(), "frame 9: its group is longer than 99 bytes");
}

}  // namespace
}  // namespace fairlock::storage::replicated
