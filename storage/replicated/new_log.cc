#include "storage/replicated/new_log.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "storage/replicated/fleet_record.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::chrono::milliseconds kNewLogPause{100};
constexpr std::size_t kSliceBytes = std::size_t{256} << 10;
constexpr std::uint64_t kGeneration = 1;

Status RefuseBegun(const std::string& leader) {
  return Refused("the log of this fleet was already started by node " + leader +
                 "; import only into a new cluster_name");
}

// Writes rows as the slices of a snapshot.
class SliceWriter {
 public:
  SliceWriter(ReplicatedStore& store, const LogId& log_id)
      : store_(store), heading_(HeadingOfNewLog(log_id)) {
    heading_.generation = kGeneration;
    heading_.last_slice_checksum = ChainStart(View(log_id), kGeneration);
  }

  Status Add(const RowTable::Name& name, const std::string& value) {
    slice_.Put(name.first, name.second, value);
    return slice_.size() < kSliceBytes ? Status() : Flush();
  }

  // Makes the snapshot the state of the log.
  Status Finish() {
    Status status = slice_.empty() ? Status() : Flush();
    if (!status.ok()) return status;
    const std::string_view bytes = EncodeHeading(heading_, slice_);
    return store_.Replace({.kind = RecordKind::kHeading,
                           .generation = kGeneration,
                           .number = kGeneration,
                           .bytes = bytes},
                          heading_.first_batch);
  }

 private:
  Status Flush() {
    const StoredRecord record{
        .kind = RecordKind::kSlice,
        .generation = kGeneration,
        .number = heading_.slices,
        .bytes = slice_.Seal(RecordKind::kSlice, heading_.slices, heading_.last_slice_checksum)};
    Status status = store_.Append(std::span(&record, 1), Durability::kMachine);
    heading_.last_slice_checksum = slice_.checksum();
    ++heading_.slices;
    slice_.Clear();
    return status;
  }

  ReplicatedStore& store_;
  SnapshotHeading heading_;
  RecordWriter slice_;
};

}  // namespace

NewLog::NewLog(etcd::EtcdClient& client, PartitionKeys keys, const std::string& node,
               const std::string& address)
    : client_(client),
      writer_(std::move(keys), NewRunId(), node, address),
      store_(client, writer_, {.compact_every = 0}) {
  store_.LimitAttempts(kNewLogAttemptsMax);
}

// Returns the beat of an interrupted import; without a beat, the log is new.
Result<SeenBeat> NewLog::FindStart() {
  const PartitionKeys& keys = writer_.keys();
  const etcd::RangeAnswer answer =
      client_.Range({.key = keys.prefix, .range_end = etcd::EndOfPrefix(keys.prefix), .limit = 1},
                    kNewLogCallTimeout);
  if (answer.outcome != etcd::Outcome::kDone) return Failed("etcd: " + answer.message);
  if (answer.found.empty()) return SeenBeat();
  // The beat has the lowest key.
  const etcd::KeyValue& first = answer.found.front();
  if (first.key != keys.beat) return Refused("etcd already has the key " + first.key);
  auto beat = DecodeBeat(first.value);
  if (!beat.ok()) return beat.status();
  if (beat->state != Beat::State::kImporting) return RefuseBegun(beat->leader);
  return SeenBeat{.revision = first.mod_revision, .value = first.value, .beat = beat.value()};
}

// Takes over, so that no node can lead before the log is complete.
Status NewLog::Begin() {
  const auto start = FindStart();
  if (!start.ok()) return start.status();
  writer_.TakeOver(start.value(), 0, Beat::State::kImporting);
  std::string error;
  for (int attempt = 0; attempt < kNewLogAttemptsMax; ++attempt) {
    const etcd::TxnAnswer answer = client_.Transact(writer_.txn(), kNewLogCallTimeout);
    switch (writer_.Take(answer)) {
      case FrameWriter::Progress::kCommitted:
        return {};
      case FrameWriter::Progress::kDeposed:
        return RefuseBegun(writer_.other().beat.leader);
      case FrameWriter::Progress::kFailed:
        return Failed("etcd: " + answer.message);
      case FrameWriter::Progress::kRepeat:
        error = answer.message;
        std::this_thread::sleep_for(kNewLogPause);
    }
  }
  return Failed("etcd: " + error);
}

Status NewLog::Write(const RowTable& rows) {
  LogId log_id;
  std::ranges::copy(NewRunId(), log_id.begin());
  SliceWriter slices(store_, log_id);
  for (const auto& [name, value] : rows.rows()) {
    Status status = slices.Add(name, value);
    if (!status.ok()) return status;
  }
  return slices.Finish();
}

Status ImportLog(const ClusterOptions& options, const RowTable& rows) {
  auto client = etcd::EtcdClient::Open(options.etcd);
  if (!client.ok()) return client.status();
  const std::string prefix = FleetPrefix(options.fleet);
  const auto fleet = CreateOrReadFleet(*client.value(), prefix, {}, kNewLogCallTimeout);
  if (!fleet.ok()) return fleet.status();
  if (fleet->record.partitions != 1) {
    return Refused("the fleet has " + std::to_string(fleet->record.partitions) +
                   " partitions, and a data folder can only become a fleet of one partition");
  }
  NewLog log(*client.value(), PartitionKeys(PartitionPrefix(prefix, 0)), options.node,
             options.address);
  Status status = log.Begin();
  if (status.ok()) status = log.Write(rows);
  return status.ok() ? log.HandOver() : status;
}

}  // namespace fairlock::storage::replicated
