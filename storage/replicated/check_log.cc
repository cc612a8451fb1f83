#include "storage/replicated/check_log.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "storage/byte_coding.h"
#include "storage/replicated/fleet_record.h"
#include "storage/replicated/frame.h"
#include "storage/replicated/frame_writer.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::chrono::milliseconds kCheckCallTimeout{5'000};
constexpr std::int64_t kFramesPerRead = 16;
// An attempt fails if a leader compacts etcd's history in the meantime.
constexpr int kCheckAttemptsMax = 10;

// One attempt to read the log, at one revision.
class LogCheck final : public RecordSink {
 public:
  LogCheck(etcd::EtcdClient& client, const PartitionKeys& keys)
      : client_(client), keys_(keys), examination_(report_.data) {}

  Status Run() {
    Status status = ReadBeat();
    if (status.ok()) status = ReadHeading();
    while (status.ok() && next_frame_ < report_.beat.beat.next_frame) status = ReadFrames();
    if (!status.ok()) return status;
    for (const Batch& batch : batches_) {
      examination_.AddDamage(examination_.Take({RecordKind::kBatch, 0, batch.number, batch.bytes}));
    }
    examination_.Finish(std::nullopt);
    return {};
  }

  bool was_compacted() const { return was_compacted_; }
  LogReport& report() { return report_; }

  // In the log, the slices of a snapshot lie between batches, but Examination must get the batches
  // after all slices.
  Status Take(const StoredRecord& record) override {
    if (record.kind != RecordKind::kBatch) return examination_.Take(record);
    batches_.push_back({record.number, std::string(record.bytes)});
    return {};
  }

 private:
  struct Batch {
    std::uint64_t number = 0;
    std::string bytes;
  };

  Result<etcd::RangeAnswer> Read(const etcd::Get& get) {
    etcd::RangeAnswer answer = client_.Range(get, kCheckCallTimeout);
    if (answer.outcome == etcd::Outcome::kDone) return answer;
    was_compacted_ = answer.outcome == etcd::Outcome::kCompacted;
    return Failed("etcd: " + answer.message);
  }

  Status ReadBeat() {
    auto answer = Read({.key = keys_.beat, .range_end = {}});
    if (!answer.ok()) return answer.status();
    report_.revision = answer->revision;
    if (answer->found.empty()) {
      return Refused("there is no log under " + keys_.prefix + ": no node ever led this fleet");
    }
    report_.beat.revision = answer->found.front().mod_revision;
    report_.beat.value = answer->found.front().value;
    auto beat = DecodeBeat(report_.beat.value);
    if (!beat.ok()) return beat.status();
    report_.beat.beat = beat.value();
    return beat->state == Beat::State::kImporting ? ImportNotEnded() : Status();
  }

  Status ReadHeading() {
    auto answer = Read({.key = keys_.heading, .range_end = {}, .revision = report_.revision});
    if (!answer.ok()) return answer.status();
    next_frame_ = report_.beat.beat.next_frame;
    if (answer->found.empty()) return {};  // Finish lists this as damage
    ByteReader bytes(answer->found.front().value);
    const auto first_frame = bytes.Fixed<std::uint64_t>();
    StoredRecord heading;
    heading.kind = RecordKind::kHeading;
    heading.generation = bytes.Varint();
    heading.number = bytes.Varint();
    heading.bytes = bytes.Bytes(bytes.rest_bytes());
    if (!bytes.ok() || first_frame == 0) {
      examination_.AddDamage(Damaged("the key " + keys_.heading + " is damaged"));
      return {};
    }
    next_frame_ = first_frame;
    return examination_.Take(heading);
  }

  Status ReadFrames() {
    const std::uint64_t end = report_.beat.beat.next_frame;
    auto answer = Read({.key = keys_.FrameKey(next_frame_),
                        .range_end = keys_.FrameKey(end),
                        .limit = kFramesPerRead,
                        .revision = report_.revision});
    if (!answer.ok()) return answer.status();
    for (const etcd::KeyValue& found : answer->found) TakeFrame(found);
    if (answer->found.empty()) AddMissing(end);
    return {};
  }

  void AddMissing(std::uint64_t end) {
    if (end > next_frame_) {
      examination_.AddDamage(
          Damaged("frame " + std::to_string(next_frame_) +
                  (end - next_frame_ == 1 ? " is missing"
                                          : " to " + std::to_string(end - 1) + " are missing")));
    }
    next_frame_ = end;
  }

  void TakeFrame(const etcd::KeyValue& found) {
    const std::uint64_t number = keys_.FrameNumber(found.key);
    if (number < next_frame_)
      return examination_.AddDamage(Damaged("the key " + found.key + " is not a frame key"));
    AddMissing(number);
    ++next_frame_;
    ++report_.frames;
    report_.frame_bytes += found.value.size();
    examination_.AddDamage(groups_.Add(found.value, "frame " + std::to_string(number)));
    if (groups_.is_complete()) examination_.AddDamage(ReadRecords(groups_.group(), *this));
  }

  etcd::EtcdClient& client_;
  const PartitionKeys& keys_;
  LogReport report_;
  Examination examination_;
  GroupReader groups_;
  std::vector<Batch> batches_;
  std::uint64_t next_frame_ = 0;
  bool was_compacted_ = false;
};

}  // namespace

Result<LogReport> CheckLog(const ClusterOptions& options, std::uint32_t partition) {
  auto client = etcd::EtcdClient::Open(options.etcd);
  if (!client.ok()) return client.status();
  const PartitionKeys keys(PartitionPrefix(FleetPrefix(options.fleet), partition));
  for (int attempt = 1;; ++attempt) {
    LogCheck check(*client.value(), keys);
    const Status status = check.Run();
    if (status.ok()) return std::move(check.report());
    if (!check.was_compacted() || attempt == kCheckAttemptsMax) return status;
  }
}

}  // namespace fairlock::storage::replicated
