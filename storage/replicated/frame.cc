#include "storage/replicated/frame.h"

#include <algorithm>
#include <cassert>

#include "storage/byte_coding.h"
#include "storage/crc32c.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::uint8_t kFrameVersion = 1;
constexpr std::uint8_t kBegins = 1;     // the first frame of its group
constexpr std::uint8_t kCompletes = 2;  // the last frame of its group
constexpr std::size_t kHeaderBytes = 2 + sizeof(std::uint32_t);

// A frame is the version, the flags, the checksum of these two and of the content, and the content.
std::string FrameOf(std::uint8_t flags, std::string_view content) {
  std::string frame(kHeaderBytes, '\0');
  frame[0] = static_cast<char>(kFrameVersion);
  frame[1] = static_cast<char>(flags);
  const std::uint32_t crc = ExtendCrc32c(ExtendCrc32c(0, {frame.data(), 2}), content);
  WriteFixed(frame.data() + 2, MaskedCrc32c(crc));
  return frame.append(content);
}

Status DamagedFrame(std::string_view name, std::string_view what) {
  return Damaged(std::string(name).append(": ").append(what));
}

bool IsKind(std::uint8_t kind) {
  return kind == static_cast<std::uint8_t>(RecordKind::kBatch) ||
         kind == static_cast<std::uint8_t>(RecordKind::kSlice) ||
         kind == static_cast<std::uint8_t>(RecordKind::kHeading);
}

}  // namespace

void AppendRecord(std::string& group, const StoredRecord& record) {
  char header[1 + 3 * kVarintBytesMax];
  header[0] = static_cast<char>(record.kind);
  char* end = WriteVarint(header + 1, record.generation);
  end = WriteVarint(WriteVarint(end, record.number), record.bytes.size());
  group.append(header, static_cast<std::size_t>(end - header)).append(record.bytes);
}

std::vector<std::string> FramesOf(std::string_view group, std::size_t frame_bytes_max) {
  assert(frame_bytes_max > kHeaderBytes);
  const std::size_t content_bytes_max = frame_bytes_max - kHeaderBytes;
  std::vector<std::string> frames;
  do {
    const std::string_view content = group.substr(0, content_bytes_max);
    group.remove_prefix(content.size());
    std::uint8_t flags = frames.empty() ? kBegins : 0;
    if (group.empty()) flags |= kCompletes;
    frames.push_back(FrameOf(flags, content));
  } while (!group.empty());
  return frames;
}

Status ReadRecords(std::string_view group, RecordSink& sink) {
  ByteReader bytes(group);
  while (bytes.ok() && bytes.rest_bytes() > 0) {
    const auto kind = bytes.Fixed<std::uint8_t>();
    if (!IsKind(kind)) return Newer("a frame has a record of an unknown kind");
    StoredRecord record;
    record.kind = static_cast<RecordKind>(kind);
    record.generation = bytes.Varint();
    record.number = bytes.Varint();
    record.bytes = bytes.String();
    if (!bytes.ok()) break;
    Status status = sink.Take(record);
    if (!status.ok()) return status;
  }
  return bytes.ok() ? Status() : Damaged("a frame ends within a record");
}

Status GroupReader::Add(std::string_view frame, std::string_view name) {
  if (frame.size() < kHeaderBytes) return DamagedFrame(name, "shorter than its header");
  const std::string_view content = frame.substr(kHeaderBytes);
  const std::uint32_t crc = ExtendCrc32c(ExtendCrc32c(0, frame.substr(0, 2)), content);
  if (ReadFixed<std::uint32_t>(frame.data() + 2) != MaskedCrc32c(crc)) {
    return DamagedFrame(name, "the checksum does not match");
  }
  const auto version = static_cast<std::uint8_t>(frame[0]);
  if (version != kFrameVersion) {
    return Newer(std::string(name) + " has format " + std::to_string(version) +
                 ", and this program reads only format " + std::to_string(kFrameVersion));
  }
  const auto flags = static_cast<std::uint8_t>(frame[1]);
  begins_ = (flags & kBegins) != 0;
  if (!begins_ && !is_open_) return DamagedFrame(name, "the frames before it are missing");
  // Drops a group that was not completed, because its leader ended while writing it.
  if (begins_) group_.clear();
  if (group_.size() + content.size() > group_bytes_max_) {
    return DamagedFrame(name,
                        "its group is longer than " + std::to_string(group_bytes_max_) + " bytes");
  }
  group_.append(content);
  is_complete_ = (flags & kCompletes) != 0;
  is_open_ = !is_complete_;
  return {};
}

}  // namespace fairlock::storage::replicated
