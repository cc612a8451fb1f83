#include "storage/replicated/fleet_observer.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "storage/replicated/fleet_record.h"
#include "storage/replicated/fleet_view.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::int64_t kNodesReadMax = 256;

std::string FailureOf(const etcd::Answer& answer) {
  const bool is_done =
      answer.outcome == etcd::Outcome::kDone || answer.outcome == etcd::Outcome::kRefused;
  return is_done ? "" : answer.message;
}

// Why the member serves nothing; empty if it serves. The list of members names the endpoint
// already.
std::string TroubleOf(const etcd::StatusAnswer& status, const std::string& address) {
  std::string failure = FailureOf(status);
  const std::string prefix = "etcd at " + address + ": ";
  if (failure.starts_with(prefix)) failure.erase(0, prefix.size());
  if (failure.empty() && status.leader == 0) return "it knows no leader of etcd";
  return failure;
}

std::string ClaimsKey(const std::string& prefix) { return prefix + "claims"; }

bool IsOlder(const NodeRecord& one, const NodeRecord& other) {
  return std::tie(one.started_unix_ms, one.run) < std::tie(other.started_unix_ms, other.run);
}

}  // namespace

// The record of a leader that is gone remains for a few seconds, so the highest epoch counts.
const NodeRecord* LeaderOf(std::span<const NodeRecord> nodes, std::uint32_t partition) {
  const NodeRecord* leader = nullptr;
  for (const NodeRecord& node : nodes) {
    if (node.partition != partition || !node.leads) continue;
    if (leader == nullptr || node.epoch > leader->epoch) leader = &node;
  }
  return leader;
}

std::uint64_t LargestDatabase(const FleetView& view) {
  std::uint64_t size = 0;
  for (const MemberState& member : view.etcd) size = std::max(size, member.size_bytes);
  return size;
}

Result<std::unique_ptr<FleetObserver>> FleetObserver::Start(FleetObserverOptions options) {
  auto client = etcd::EtcdClient::Open(options.etcd);
  if (!client.ok()) return client.status();
  return std::unique_ptr<FleetObserver>(
      new FleetObserver(std::move(client.value()), std::move(options)));
}

FleetObserver::FleetObserver(std::unique_ptr<etcd::EtcdClient> client, FleetObserverOptions options)
    : client_(std::move(client)),
      options_(std::move(options)),
      balance_(options_.balance_after.count()),
      thread_([this] { Run(); }) {}

FleetObserver::~FleetObserver() {
  {
    const std::lock_guard lock(mutex_);
    asked_.is_stopped = true;
  }
  changed_.notify_one();
  thread_.join();
}

FleetView FleetObserver::View() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

void FleetObserver::Wake() {
  {
    const std::lock_guard lock(mutex_);
    asked_.is_woken = true;
  }
  changed_.notify_one();
}

void FleetObserver::AcceptEtcd() {
  {
    const std::lock_guard lock(mutex_);
    asked_.accepts_etcd = true;
  }
  Wake();
}

void FleetObserver::KeepRecord() {
  const std::lock_guard lock(mutex_);
  asked_.keeps_record = true;
}

void FleetObserver::Run() {
  constexpr std::chrono::milliseconds kFarewellTimeout{300};
  for (int round = 0;; ++round) {
    FleetView view = View();
    view.error = CheckFleet();
    if (view.error.empty()) view.error = CheckEtcd(view);
    if (view.error.empty()) view.error = KeepLease();
    if (view.error.empty()) view.error = WriteRecord();
    if (view.error.empty()) view.error = ReadNodes(view);
    view.successor.clear();
    if (view.error.empty()) view.error = Balance(view);
    if (!view.error.empty()) balance_.Forget();
    view.refusal = state_.refusal;
    view.assignment = state_.assignment;
    // While something is wrong, operators want to know which members answer.
    if (round % options_.rounds_per_status == 0 || !view.error.empty()) AskMembers(view);
    Publish(std::move(view));
    options_.on_view();
    if (!Pause()) break;
  }
  if (state_.lease != 0 && !asked_.keeps_record)
    client_->RevokeLease(state_.lease, kFarewellTimeout);
}

// Waits for the next round. Returns false if the observer is being destroyed.
bool FleetObserver::Pause() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, options_.round, [this] { return asked_.is_stopped || asked_.is_woken; });
  asked_.is_woken = false;
  return !asked_.is_stopped;
}

void FleetObserver::Publish(FleetView view) {
  const std::lock_guard lock(mutex_);
  view_ = std::move(view);
}

// Reads the description of the fleet, and checks that this node can be part of such a fleet.
std::string FleetObserver::CheckFleet() {
  if (state_.partitions != 0) return "";
  auto found = ReadFleet(*client_, options_.prefix, options_.call_timeout);
  if (found.status().code() == StatusCode::kRefused && options_.creates_fleet) {
    const auto created = CreateOrReadFleet(*client_, options_.prefix, {}, options_.call_timeout);
    found = created.ok() ? Result(created->record) : Result<FleetRecord>(created.status());
  }
  if (found.status().code() == StatusCode::kDamaged) {
    state_.refusal = found.status().message() + "; use another cluster_name";
  }
  if (!found.ok()) return found.status().message();
  const FleetRecord& fleet = found.value();
  if (fleet.format != FleetRecord::kFormat) {
    state_.refusal = "the fleet has format " + std::to_string(fleet.format) +
                     ", but this version only knows format " +
                     std::to_string(FleetRecord::kFormat) + "; use another cluster_name";
    return state_.refusal;
  }
  if (options_.partition && *options_.partition >= fleet.partitions) {
    state_.refusal = "cluster_partition is " + std::to_string(*options_.partition) +
                     ", but the fleet has only the partitions 0 to " +
                     std::to_string(fleet.partitions - 1);
    return state_.refusal;
  }
  state_.partitions = fleet.partitions;
  return "";
}

// Compares the etcd cluster with the one that the fleet has used. The id stays the same for each
// member's life, so it is read only when the cluster may have changed.
std::string FleetObserver::CheckEtcd(FleetView& view) {
  const std::uint64_t cluster = options_.etcd.pin ? options_.etcd.pin->id() : 0;
  const bool is_accepted = IsEtcdAccepted();
  if (cluster == 0 || (cluster == state_.etcd_cluster && !is_accepted)) return "";
  const auto found =
      client_->Range({.key = FleetKey(options_.prefix), .range_end = {}}, options_.call_timeout);
  if (std::string failure = FailureOf(found); !failure.empty()) return failure;
  if (found.found.empty()) return "the description of the fleet is gone";
  const auto record = DecodeFleet(found.found.front().value);
  if (!record.ok()) return record.status().message();
  view.is_other_etcd = options_.etcd.pin->was_replaced();
  if (record->etcd_cluster == cluster) {
    state_.etcd_cluster = cluster;
  } else if (record->etcd_cluster == 0 || is_accepted) {
    if (std::string failure = KeepEtcd(found.found.front(), record.value(), cluster);
        !failure.empty()) {
      return failure;
    }
  } else {
    view.is_other_etcd = true;
    return "";
  }
  const std::lock_guard lock(mutex_);
  if (is_accepted) asked_.accepts_etcd = false;
  return "";
}

bool FleetObserver::IsEtcdAccepted() const {
  const std::lock_guard lock(mutex_);
  return asked_.accepts_etcd;
}

// Writes the id of the etcd cluster to the description of the fleet.
std::string FleetObserver::KeepEtcd(const etcd::KeyValue& found, FleetRecord record,
                                    std::uint64_t cluster) {
  record.etcd_cluster = cluster;
  etcd::Txn txn;
  txn.compares.push_back({.key = found.key, .revision = found.mod_revision});
  txn.then.push_back(etcd::Put{.key = found.key, .value = EncodeFleet(record)});
  const auto answer = client_->Transact(txn, options_.call_timeout);
  if (answer.outcome == etcd::Outcome::kDone) state_.etcd_cluster = cluster;
  if (answer.outcome == etcd::Outcome::kRefused) {
    Wake();  // reads what the other node wrote, at once
    return "another node describes the fleet";
  }
  return FailureOf(answer);
}

std::string FleetObserver::KeepLease() {
  if (state_.lease != 0) {
    const auto answer = client_->KeepLeaseAlive(state_.lease, options_.call_timeout);
    if (answer.outcome == etcd::Outcome::kDone) return "";
    if (answer.outcome != etcd::Outcome::kNoLease) return answer.message;
    state_.lease = 0;
  }
  const auto answer = client_->GrantLease(options_.lease_ttl, options_.call_timeout);
  if (answer.outcome != etcd::Outcome::kDone) return FailureOf(answer);
  state_.lease = answer.id;
  state_.written = {};
  return "";
}

std::string FleetObserver::WriteRecord() {
  NodeRecord record = options_.describe();
  etcd::Txn txn;
  if (state_.assignment) {
    record.partition = state_.assignment->partition;
  } else if (std::string failure = Choose(record, txn); !failure.empty()) {
    return failure;
  }
  if (record == state_.written || !state_.refusal.empty()) return "";
  const std::string key = options_.prefix + "n/" + record.name;
  const auto found = client_->Range({.key = key, .range_end = {}}, options_.call_timeout);
  if (std::string failure = FailureOf(found); !failure.empty()) return failure;
  if (!found.found.empty()) {
    const auto other = DecodeNode(record.name, found.found.front().value);
    if (other.ok() && !MayReplace(record, other.value())) {
      NoteConflict(other.value());
      return "";
    }
  }
  // The record must not have changed since it was read, so that if two nodes have the same name,
  // only one of them writes its record.
  txn.compares.push_back(
      {.key = key, .revision = found.found.empty() ? 0 : found.found.front().mod_revision});
  txn.then.push_back(etcd::Put{.key = key, .value = EncodeNode(record), .lease = state_.lease});
  const auto answer = client_->Transact(txn, options_.call_timeout);
  if (answer.outcome == etcd::Outcome::kDone) {
    state_.assignment = {.partition = record.partition, .partitions = state_.partitions};
    state_.written = record;
    state_.had_name = true;
    state_.conflict_since = kNever;
  }
  if (answer.outcome == etcd::Outcome::kRefused && !state_.assignment) Wake();
  if (answer.outcome == etcd::Outcome::kNoLease) state_.lease = 0;
  return FailureOf(answer);
}

// Chooses the partition of this node. The claim changes the key `claims`, so that of two nodes that
// choose at the same time, the second one is refused and chooses again.
std::string FleetObserver::Choose(NodeRecord& own, etcd::Txn& txn) {
  std::int64_t revision = 0;
  if (std::string failure = ReadClaims(revision); !failure.empty()) return failure;
  std::vector<NodeRecord> nodes;
  if (std::string failure = ReadRecords(nodes); !failure.empty()) return failure;
  own.partition = options_.partition.value_or(ChoosePartition(nodes, state_.partitions, own));
  txn.compares.push_back({.key = ClaimsKey(options_.prefix), .revision = revision});
  txn.then.push_back(etcd::Put{.key = ClaimsKey(options_.prefix), .value = own.name});
  return "";
}

// Reads the MOD revision of the key `claims`; 0 if it does not exist.
std::string FleetObserver::ReadClaims(std::int64_t& revision) {
  const auto answer =
      client_->Range({.key = ClaimsKey(options_.prefix), .range_end = {}}, options_.call_timeout);
  revision = answer.found.empty() ? 0 : answer.found.front().mod_revision;
  return FailureOf(answer);
}

// Only leaders read the claims. A node that has just become the leader must wait from then on
// anyway, because the leaders have changed.
std::string FleetObserver::Balance(FleetView& view) {
  if (!balance_.is_enabled() || state_.partitions < 2) return "";
  if (!state_.written.leads) {
    balance_.Forget();
    return "";
  }
  std::int64_t revision = 0;
  if (std::string failure = ReadClaims(revision); !failure.empty()) return failure;
  if (!balance_.See(view.nodes, state_.partitions, revision, options_.now_ms())) return "";
  const auto successor = ChooseSuccessor(view.nodes, state_.partitions, state_.written);
  return successor ? ClaimHandOver(revision, *successor, view) : "";
}

// If the outcome is not known, this node does not hand over.
std::string FleetObserver::ClaimHandOver(std::int64_t claims_revision, const std::string& successor,
                                         FleetView& view) {
  const std::string key = ClaimsKey(options_.prefix);
  etcd::Txn txn;
  txn.compares.push_back({.key = key, .revision = claims_revision});
  txn.then.push_back(etcd::Put{.key = key, .value = state_.written.name + " to " + successor});
  const auto answer = client_->Transact(txn, options_.call_timeout);
  if (answer.outcome == etcd::Outcome::kDone) view.successor = successor;
  return FailureOf(answer);
}

// If the lease ran out because this process was paused or cut off, a node that was started later
// may have taken the name.
bool FleetObserver::MayReplace(const NodeRecord& record, const NodeRecord& other) const {
  if (other.run == record.run || other.address == record.address) return true;
  return state_.had_name && IsOlder(record, other);
}

// The record of a node that is gone will disappear when its lease ends.
void FleetObserver::NoteConflict(const NodeRecord& other) {
  const TimeMs now = options_.now_ms();
  state_.conflict_since = std::min(state_.conflict_since, now);
  const auto patience = std::chrono::milliseconds(options_.lease_ttl + options_.round).count();
  if (now < state_.conflict_since + patience) return;
  state_.refusal = "another node named " + other.name + " runs at " + other.address +
                   "; give each node its own cluster_node";
}

std::string FleetObserver::ReadRecords(std::vector<NodeRecord>& nodes) {
  const std::string prefix = options_.prefix + "n/";
  const auto answer = client_->Range(
      {.key = prefix, .range_end = etcd::EndOfPrefix(prefix), .limit = kNodesReadMax},
      options_.call_timeout);
  if (answer.outcome != etcd::Outcome::kDone) return FailureOf(answer);
  nodes.clear();
  for (const etcd::KeyValue& one : answer.found) {
    auto record = DecodeNode(std::string_view(one.key).substr(prefix.size()), one.value);
    if (record.ok()) nodes.push_back(std::move(record.value()));
  }
  return "";
}

std::string FleetObserver::ReadNodes(FleetView& view) {
  // The answer may arrive late, so it may be as old as the question.
  const TimeMs asked_at = options_.now_ms();
  if (std::string failure = ReadRecords(view.nodes); !failure.empty()) return failure;
  view.read_at = asked_at;
  // Writes the record again if someone has deleted or replaced it, or if etcd was restored from a
  // backup that has an earlier one.
  const auto is_own = [this](const NodeRecord& node) { return node == state_.written; };
  if (std::ranges::none_of(view.nodes, is_own)) state_.written = {};
  return "";
}

void FleetObserver::AskMembers(FleetView& view) {
  view.etcd.clear();
  for (std::size_t i = 0; i < options_.etcd.endpoints.size(); ++i) {
    // Several members that do not answer may take longer than the lease lasts.
    if (view.error.empty()) view.error = KeepLease();
    const etcd::StatusAnswer status = client_->StatusOf(i, options_.call_timeout);
    const std::string& address = options_.etcd.endpoints[i].address;
    view.etcd.push_back(
        {.endpoint = address,
         .error = TroubleOf(status, address),
         .is_refused = options_.etcd.pin && options_.etcd.pin->Refuses(address),
         .version = status.version,
         .is_leader = status.leader != 0 && status.leader == status.member_id,
         .size_bytes = static_cast<std::uint64_t>(status.size_bytes),
         .size_in_use_bytes = static_cast<std::uint64_t>(status.size_in_use_bytes)});
  }
  const etcd::AlarmsAnswer alarms = client_->Alarms(options_.call_timeout);
  if (alarms.outcome != etcd::Outcome::kDone) return;
  view.has_no_space = std::ranges::any_of(alarms.alarms, [](const etcd::Alarm& alarm) {
    return alarm.kind == etcd::Alarm::Kind::kNoSpace;
  });
}

}  // namespace fairlock::storage::replicated
