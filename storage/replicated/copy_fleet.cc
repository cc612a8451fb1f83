#include "storage/replicated/copy_fleet.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "storage/replicated/fleet_record.h"
#include "storage/replicated/log_copy.h"
#include "storage/replicated/new_log.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::chrono::milliseconds kLook{200};
constexpr int kAttemptsMax = kNewLogAttemptsMax;

Result<etcd::RangeAnswer> Read(etcd::EtcdClient& client, const etcd::Get& get) {
  for (int attempt = 1;; ++attempt) {
    etcd::RangeAnswer answer = client.Range(get, kNewLogCallTimeout);
    if (answer.outcome == etcd::Outcome::kDone) return answer;
    if (attempt == kAttemptsMax) return Failed("etcd: " + answer.message);
    std::this_thread::sleep_for(kLook);
  }
}

// Revision 0 means that the register does not exist.
Result<SeenBeat> ReadBeat(etcd::EtcdClient& client, const PartitionKeys& keys) {
  auto answer = Read(client, {.key = keys.beat, .range_end = {}});
  if (!answer.ok()) return answer.status();
  if (answer->found.empty()) return SeenBeat();
  const etcd::KeyValue& found = answer->found.front();
  auto beat = DecodeBeat(found.value);
  if (!beat.ok()) return beat.status();
  return SeenBeat{.revision = found.mod_revision, .value = found.value, .beat = beat.value()};
}

std::vector<PartitionKeys> KeysOf(const std::string& prefix, std::uint32_t partitions) {
  std::vector<PartitionKeys> keys;
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    keys.emplace_back(PartitionPrefix(prefix, partition));
  }
  return keys;
}

// The fleet that is copied.
class Source {
 public:
  Source(etcd::EtcdClient& client, const CopyFleetOptions& options)
      : client_(client), options_(options), prefix_(FleetPrefix(options.source)) {}

  // Makes sure that nothing writes to the fleet.
  Status Seize() {
    auto fleet = ReadFleet(client_, prefix_, kNewLogCallTimeout);
    if (!fleet.ok()) return NameSource(fleet.status());
    keys_ = KeysOf(prefix_, fleet->partitions);
    Status status = AwaitNoNode();
    if (status.ok()) status = CheckSilence();
    for (const PartitionKeys& keys : keys_) {
      if (status.ok()) status = TakeOver(keys);
    }
    return status;
  }

  Status ReadInto(Repartition& repartition) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      RowTable rows;
      Status status = ReadLog(i, rows);
      if (status.ok()) status = repartition.Add(rows);
      if (!status.ok()) {
        return {status.code(), "partition " + std::to_string(i) + ": " + status.message()};
      }
    }
    return {};
  }

  // Fails if a node has been started since Seize.
  Status CheckSeized() {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const auto seen = ReadBeat(client_, keys_[i]);
      if (!seen.ok()) return seen.status();
      if (seen->value == seized_[i].value && seen->revision == seized_[i].revision) continue;
      return RefuseLed(seen->beat.leader);
    }
    return {};
  }

  std::uint32_t partitions() const { return static_cast<std::uint32_t>(keys_.size()); }

 private:
  Status RefuseLed(const std::string& node) const {
    return Refused("node " + node + " of the fleet " + options_.source +
                   " leads; stop all its nodes first");
  }

  Status NameSource(const Status& status) const {
    return {status.code(), "the fleet " + options_.source + ": " + status.message()};
  }

  // The record of a node that was killed disappears a few seconds later.
  Status AwaitNoNode() {
    const std::string nodes = prefix_ + "n/";
    for (auto left = options_.patience;; left -= kLook) {
      auto answer =
          Read(client_, {.key = nodes, .range_end = etcd::EndOfPrefix(nodes), .limit = 1});
      if (!answer.ok()) return answer.status();
      if (answer->found.empty()) return {};
      if (left < kLook) {
        return Refused("node " + answer->found.front().key.substr(nodes.size()) + " of the fleet " +
                       options_.source + " runs; stop all its nodes first");
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  Status CheckSilence() {
    for (const PartitionKeys& keys : keys_) {
      auto seen = ReadBeat(client_, keys);
      if (!seen.ok()) return seen.status();
      if (seen->beat.state == Beat::State::kImporting) return ImportNotEnded();
      seized_.push_back(std::move(seen.value()));
    }
    std::this_thread::sleep_for(options_.silence);
    return CheckSeized();
  }

  // No leader can write after this, not even one that was paused.
  Status TakeOver(const PartitionKeys& keys) {
    SeenBeat& seized = seized_[static_cast<std::size_t>(&keys - keys_.data())];
    FrameWriter writer(keys, NewRunId(), options_.node);
    writer.TakeOver(seized, 0, Beat::State::kHandedOver);
    for (int attempt = 1;; ++attempt) {
      const etcd::TxnAnswer answer = client_.Transact(writer.txn(), kNewLogCallTimeout);
      const FrameWriter::Progress progress = writer.Take(answer);
      if (progress == FrameWriter::Progress::kCommitted) break;
      if (progress == FrameWriter::Progress::kDeposed) {
        return RefuseLed(writer.other().beat.leader);
      }
      if (progress == FrameWriter::Progress::kFailed || attempt == kAttemptsMax) {
        return Failed("etcd: " + answer.message);
      }
      std::this_thread::sleep_for(kLook);
    }
    seized = writer.committed();
    return {};
  }

  // The log does not change any more, so it is read as it is now.
  Status ReadLog(std::size_t partition, RowTable& rows) {
    LogCopy copy(keys_[partition], [&rows]() -> ChangeSink& { return rows = RowTable(); });
    const PageReader pages{.read = [this](const etcd::Get& get) { return Read(client_, get); }};
    Status status = copy.CatchUp(pages, {.end = seized_[partition].beat.next_frame});
    if (!status.ok() || copy.next_frame() == 0) return status;  // no node ever led
    return copy.End().status();
  }

  etcd::EtcdClient& client_;
  const CopyFleetOptions& options_;
  const std::string prefix_;
  std::vector<PartitionKeys> keys_;
  std::vector<SeenBeat> seized_;  // the registers of the partitions
};

// The fleet that the copy creates.
class Target {
 public:
  Target(etcd::EtcdClient& client, const CopyFleetOptions& options)
      : client_(client), options_(options), prefix_(FleetPrefix(options.fleet)) {}

  // Deletes what an interrupted copy has written. Refused if the fleet exists.
  Status Clear() {
    const auto fleet = Read(client_, {.key = fleet_key(), .range_end = {}});
    if (!fleet.ok()) return fleet.status();
    if (!fleet->found.empty()) return RefuseExisting();
    etcd::Txn txn;
    txn.compares.push_back(IsNew());
    for (const PartitionKeys& keys : KeysOf(prefix_, FleetRecord::kPartitionsMax)) {
      const auto seen = ReadBeat(client_, keys);
      if (!seen.ok()) return seen.status();
      if (!seen->exists()) continue;
      if (seen->beat.state != Beat::State::kImporting) {
        return Refused("etcd already has the key " + keys.beat);
      }
      txn.compares.push_back({.key = keys.beat, .revision = seen->revision});
    }
    const bool is_clear = txn.compares.size() == 1;
    if (is_clear) return CheckNoLog();
    txn.then.push_back(
        etcd::DeleteRange{.key = prefix_ + "p/", .range_end = etcd::EndOfPrefix(prefix_ + "p/")});
    const etcd::TxnAnswer answer = client_.Transact(txn, kNewLogCallTimeout);
    if (answer.outcome == etcd::Outcome::kDone) return {};
    if (answer.outcome == etcd::Outcome::kRefused) return Refused("another copy is running");
    return Failed("etcd: " + answer.message);
  }

  Status Write(const std::vector<RowTable>& tables) {
    for (const PartitionKeys& keys : KeysOf(prefix_, options_.repartition.partitions)) {
      logs_.push_back(std::make_unique<NewLog>(client_, keys, options_.node, ""));
      Status status = logs_.back()->Begin();
      if (!status.ok()) return status;
    }
    for (std::size_t i = 0; i < logs_.size(); ++i) {
      Status status = logs_[i]->Write(tables[i]);
      if (!status.ok()) return status;
    }
    return {};
  }

  // Makes the fleet visible and all its registers ready, in one transaction. etcd allows 128
  // comparisons, so registers are compared by their revisions alone.
  Status Finish() {
    etcd::Txn txn;
    txn.compares.push_back(IsNew());
    txn.then.push_back(etcd::Put{
        .key = fleet_key(), .value = EncodeFleet({.partitions = options_.repartition.partitions})});
    for (const auto& log : logs_) {
      const etcd::Txn& own = log->writer().Write({.hands_over = true});
      std::ranges::copy_if(own.compares, std::back_inserter(txn.compares), [](const auto& one) {
        return one.target == etcd::Compare::Target::kModRevision;
      });
      std::ranges::copy(own.then, std::back_inserter(txn.then));
      std::ranges::copy(own.otherwise, std::back_inserter(txn.otherwise));
    }
    for (int attempt = 1;; ++attempt) {
      etcd::TxnAnswer answer = client_.Transact(txn, kNewLogCallTimeout);
      if (answer.outcome == etcd::Outcome::kDone) return {};
      if (answer.outcome == etcd::Outcome::kRefused) return WasCommitted(answer);
      if (answer.outcome == etcd::Outcome::kFailed || attempt == kAttemptsMax) {
        return Failed("etcd: " + answer.message);
      }
      std::this_thread::sleep_for(kLook);
    }
  }

 private:
  std::string fleet_key() const { return prefix_ + "fleet"; }
  etcd::Compare IsNew() const {
    return {.key = fleet_key(), .target = etcd::Compare::Target::kCreateRevision};
  }

  Status RefuseExisting() const {
    return Refused("the fleet " + options_.fleet + " exists already; choose another cluster_name");
  }

  Status RefuseRaced() const {
    return Refused("the fleet " + options_.fleet +
                   " has been created meanwhile, or another copy to it runs");
  }

  Status CheckNoLog() {
    const std::string logs = prefix_ + "p/";
    const auto found =
        Read(client_, {.key = logs, .range_end = etcd::EndOfPrefix(logs), .limit = 1});
    if (!found.ok()) return found.status();
    if (found->found.empty()) return {};
    return Refused("etcd already has the key " + found->found.front().key);
  }

  // Whether an earlier attempt was committed, and its answer was lost.
  Status WasCommitted(etcd::TxnAnswer& answer) {
    for (std::size_t i = 0; i < logs_.size() && i < answer.found.size(); ++i) {
      etcd::TxnAnswer own;
      own.outcome = etcd::Outcome::kRefused;
      own.found = {answer.found[i]};
      if (logs_[i]->writer().Take(own) == FrameWriter::Progress::kCommitted) continue;
      return RefuseRaced();
    }
    return answer.found.size() == logs_.size() ? Status() : RefuseRaced();
  }

  etcd::EtcdClient& client_;
  const CopyFleetOptions& options_;
  const std::string prefix_;
  std::vector<std::unique_ptr<NewLog>> logs_;
};

}  // namespace

Result<FleetCopy> CopyFleet(const CopyFleetOptions& options) {
  auto from = etcd::EtcdClient::Open(options.source_etcd);
  if (!from.ok()) return from.status();
  auto to = etcd::EtcdClient::Open(options.etcd);
  if (!to.ok()) return to.status();
  Source source(*from.value(), options);
  Target target(*to.value(), options);
  Repartition repartition(options.repartition);
  Status status = target.Clear();
  if (status.ok()) status = source.Seize();
  if (status.ok()) status = source.ReadInto(repartition);
  if (status.ok()) status = target.Write(repartition.Finish());
  if (status.ok()) status = source.CheckSeized();
  if (status.ok()) status = target.Finish();
  if (!status.ok()) return status;
  return FleetCopy{.source_partitions = source.partitions(),
                   .counts = repartition.counts(),
                   .mixed_limits = repartition.mixed_limits(),
                   .partial_limits = repartition.partial_limits()};
}

}  // namespace fairlock::storage::replicated
