#include "storage/replicated/new_log.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "storage/log/write_rows.h"
#include "storage/replicated/fleet_record.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::chrono::milliseconds kNewLogPause{100};

Status RefuseBegun(const std::string& leader) {
  return Refused("the log of this fleet was already started by node " + leader +
                 "; import only into a new cluster_name");
}

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
  return WriteRows(store_, log_id, rows);
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
