#include "storage/replicated/import_log.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "storage/replicated/fleet_record.h"
#include "storage/replicated/frame_writer.h"
#include "storage/replicated/replicated_store.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::chrono::milliseconds kImportCallTimeout{5'000};
constexpr std::chrono::milliseconds kPause{100};
constexpr int kImportAttemptsMax = 20;
constexpr std::size_t kSliceBytes = std::size_t{256} << 10;
constexpr std::uint64_t kGeneration = 1;

Status RefuseBegun(const std::string& leader) {
  return Refused("the log of this fleet was already started by node " + leader +
                 "; import only into a new cluster_name");
}

// Takes over from `seen`, so that no node can lead before the import has ended.
Status BeginFleet(etcd::EtcdClient& client, FrameWriter& writer, const SeenBeat& seen) {
  writer.TakeOver(seen, 0, Beat::State::kImporting);
  std::string error;
  for (int attempt = 0; attempt < kImportAttemptsMax; ++attempt) {
    const etcd::TxnAnswer answer = client.Transact(writer.txn(), kImportCallTimeout);
    switch (writer.Take(answer)) {
      case FrameWriter::Progress::kCommitted:
        return {};
      case FrameWriter::Progress::kDeposed:
        return RefuseBegun(writer.other().beat.leader);
      case FrameWriter::Progress::kFailed:
        return Failed("etcd: " + answer.message);
      case FrameWriter::Progress::kRepeat:
        error = answer.message;
        std::this_thread::sleep_for(kPause);
    }
  }
  return Failed("etcd: " + error);
}

// Returns the beat of an interrupted import; without a beat, the fleet is new. Refuses if a node
// has led, or if there is a heading or a frame without a beat, for example because the beat was
// deleted.
Result<SeenBeat> FindStart(etcd::EtcdClient& client, const PartitionKeys& keys) {
  const etcd::RangeAnswer answer =
      client.Range({.key = keys.prefix, .range_end = etcd::EndOfPrefix(keys.prefix), .limit = 1},
                   kImportCallTimeout);
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

Status ImportLog(const ClusterOptions& options, const RowTable& rows) {
  auto client = etcd::EtcdClient::Open(options.etcd);
  if (!client.ok()) return client.status();
  const std::string prefix = FleetPrefix(options.fleet);
  const auto fleet = CreateOrReadFleet(*client.value(), prefix, {}, kImportCallTimeout);
  if (!fleet.ok()) return fleet.status();
  if (fleet->record.partitions != 1) {
    return Refused("the fleet has " + std::to_string(fleet->record.partitions) +
                   " partitions, and a data folder can only become a fleet of one partition");
  }
  FrameWriter writer(PartitionKeys(PartitionPrefix(prefix, 0)), NewRunId(), options.node,
                     options.address);
  const auto start = FindStart(*client.value(), writer.keys());
  if (!start.ok()) return start.status();
  Status status = BeginFleet(*client.value(), writer, start.value());
  if (!status.ok()) return status;
  ReplicatedStore store(*client.value(), writer, {.compact_every = 0});
  store.LimitAttempts(kImportAttemptsMax);
  LogId log_id;
  std::ranges::copy(NewRunId(), log_id.begin());
  SliceWriter slices(store, log_id);
  for (const auto& [name, value] : rows.rows()) {
    status = slices.Add(name, value);
    if (!status.ok()) return status;
  }
  status = slices.Finish();
  return status.ok() ? store.HandOver("") : status;
}

}  // namespace fairlock::storage::replicated
