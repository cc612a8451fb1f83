#include "server/services/fleet_service.h"

#include <algorithm>
#include <utility>

#include "server/net/clock.h"
#include "server/process/version.h"
#include "server/services/fleet_report.h"
#include "storage/replicated/fleet_record.h"
#include "storage/replicated/succession.h"
#include "text/address.h"
#include "text/hexadecimal.h"

namespace fairlock::server {

namespace {

using storage::replicated::NodeRecord;

// The maximum length of each list of names in a NodeRecord; far more than it needs.
constexpr std::size_t kNamesBytesMax = 1'000;

}  // namespace

FleetService::FleetService(storage::replicated::ClusterHome& node, ClusterSettings settings,
                           boost::asio::io_context& io, FleetHooks hooks)
    : node_(node),
      settings_(std::move(settings)),
      to_loop_(io),
      hooks_(std::move(hooks)),
      probes_(io, [this] { NoteUnreached(); }) {
  const storage::replicated::RunId run = storage::replicated::NewRunId();
  own_ = {.name = settings_.options.node,
          .run = text::HexOf(std::string_view(run.data(), run.size())),
          .address = settings_.options.address,
          .tls_port = settings_.options.tls_port,
          .sentinel_port = settings_.sentinel_port,
          .http_port = settings_.http_port,
          .is_https = settings_.is_https,
          .version = std::string(Version()),
          .machine = settings_.machine,
          .is_in_sync = true,
          .started_unix_ms = net::UnixTimeUs() / 1'000,
          .options = settings_.compared_options};
}

void FleetService::Apply(const Config& config) {
  AssertInLoop();
  const std::lock_guard lock(mutex_);
  own_.options = ComparedOptions(config);
}

std::string FleetService::Start() {
  auto observer = storage::replicated::FleetObserver::Start(
      {.etcd = settings_.options.etcd,
       .prefix = storage::replicated::FleetPrefix(settings_.options.fleet),
       .creates_fleet = settings_.dialect != ClusterDialect::kCluster,
       .partition = settings_.partition,
       .balance_after = settings_.balance_after,
       .now_ms = net::MachineBoottimeMs,
       .describe = [this] { return Describe(); },
       .on_view = [this] { to_loop_.Post([this] { TakeView(); }); }});
  if (!observer.ok()) return "cluster_etcd: " + observer.status().message();
  observer_ = std::move(observer.value());
  return "";
}

NodeRecord FleetService::Describe() const {
  const std::lock_guard lock(mutex_);
  NodeRecord record = own_;
  if (record.leads) return record;
  const storage::replicated::StandbyLag lag = node_.lag();
  record.is_in_sync = lag.is_following;
  record.frames_behind = lag.frames;
  return record;
}

void FleetService::TakeLead() {
  {
    const std::lock_guard lock(mutex_);
    own_.leads = true;
    own_.epoch = node_.epoch();
    own_.leads_since_unix_ms = net::UnixTimeUs() / 1'000;
  }
  if (observer_) observer_->Wake();
}

void FleetService::KeepRecord() {
  if (observer_) observer_->KeepRecord();
}

void FleetService::TakeView() {
  AssertInLoop();
  if (!observer_) return;
  view_ = observer_->View();
  node_.standby().set_rank(RankOf(view_, Describe()));
  NoteRefusedEtcd();
  const std::uint64_t size = LargestDatabase(view_);
  if (settings_.quota_bytes != 0 && size != 0) {
    const std::uint64_t used = view_.has_no_space ? settings_.quota_bytes : size;
    node_.set_database_bytes_left(settings_.quota_bytes - std::min(used, settings_.quota_bytes));
  }
  if (!view_.refusal.empty()) return hooks_.refuse(view_.refusal);
  NoteUnreadable();
  // This must come before the node joins, so that it does not take over.
  if (view_.is_other_etcd && etcd_cluster() != joined_.doubted_etcd) {
    joined_.doubted_etcd = etcd_cluster();
    node_.standby().DoubtEtcd();
  }
  if (!view_.successor.empty()) Balance();
  if (joined_.as) return ProbeOthers();
  if (view_.assignment) return Join();
  if (view_.error.empty() || view_.error == joined_.obstacle) return;
  joined_.obstacle = view_.error;
  hooks_.wait(joined_.obstacle);
}

void FleetService::Join() {
  joined_.as = view_.assignment;
  if (joined_.as->partitions > 1 && settings_.dialect == ClusterDialect::kPlain) {
    return hooks_.refuse("the fleet has " + std::to_string(joined_.as->partitions) +
                         " partitions, so cluster_dialect cannot be plain");
  }
  {
    const std::lock_guard lock(mutex_);
    own_.partition = joined_.as->partition;
  }
  node_.UsePartition(joined_.as->partition);
  hooks_.join(*joined_.as);
}

command::FleetDialect FleetService::dialect() const {
  // Until this node has read the fleet, it knows only the setting.
  const bool has_partitions = joined_.as && joined_.as->partitions > 1;
  const bool is_cluster = settings_.dialect == ClusterDialect::kCluster || has_partitions;
  return is_cluster ? command::FleetDialect::kCluster : command::FleetDialect::kPlain;
}

void FleetService::ProbeOthers() {
  net::NodeProbes::Nodes others;
  for (const NodeRecord& node : view_.nodes) {
    if (node.partition != joined_.as->partition || node.name == settings_.options.node) continue;
    auto address = net::ParseLeaderAddress(node.address);
    if (address) address->tls_port = node.tls_port;
    others.emplace(node.name, std::move(address));
  }
  probes_.SetNodes(others);
  NoteUnreached();
}

void FleetService::NoteUnreadable() {
  std::string why = node_.lag().unreadable;
  if (why == joined_.unreadable) return;
  joined_.unreadable = std::move(why);
  if (!joined_.unreadable.empty()) hooks_.unreadable(joined_.unreadable);
}

void FleetService::NoteUnreached() {
  std::string unreached;
  for (const std::string& name : probes_.Unreached()) {
    if (unreached.size() + name.size() >= kNamesBytesMax) break;
    unreached += (unreached.empty() ? "" : " ") + name;
  }
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(own_.unreached, unreached) == unreached) return;
  }
  if (observer_) observer_->Wake();
}

// The other nodes show it too, because a client of this node is shown what the leader sees.
void FleetService::NoteRefusedEtcd() {
  std::string refused;
  for (const auto& member : view_.etcd) {
    if (!member.is_refused || refused.size() >= kNamesBytesMax) continue;
    refused += (refused.empty() ? "" : " ") + member.endpoint;
  }
  const std::lock_guard lock(mutex_);
  own_.refused_etcd = std::move(refused);
}

FleetKnowledge FleetService::Knowledge(const NodeRecord& own) const {
  return {.own = own,
          .view = view_,
          .seen = node_.standby().Seen(),
          .heard_ms_ago = node_.standby().HeardMsAgo(),
          .awaits_acceptance = node_.standby().AwaitsAcceptance(),
          .unsure_ms = hooks_.unsure_ms()};
}

command::FleetReport FleetService::Report() const {
  command::FleetReport report;
  report.fleet = settings_.options.fleet;
  report.node = settings_.options.node;
  report.dialect = dialect();
  if (joined_.as) {
    report.partition = joined_.as->partition;
    report.partitions = joined_.as->partitions;
  }
  report.relays = settings_.relays;
  const NodeRecord own = Describe();
  ReportFleet(Knowledge(own), report);
  if (view_.read_at != storage::replicated::kNever) {
    report.age_ms = net::MachineBoottimeMs() - view_.read_at;
  }
  report.error = view_.error;
  for (const auto& member : view_.etcd) {
    report.etcd.push_back({.endpoint = member.endpoint,
                           .error = member.error,
                           .version = member.version,
                           .is_leader = member.is_leader,
                           .size_bytes = member.size_bytes,
                           .size_in_use_bytes = member.size_in_use_bytes});
  }
  report.quota_bytes = settings_.quota_bytes;
  const auto left = node_.FreeBytes();
  report.is_short_of_quota = left && *left < FreeQuotaMin(settings_);
  report.has_no_space = view_.has_no_space;
  const storage::SyncTimes commits = hooks_.commits();
  report.commits = commits.count;
  report.commits_us = commits.sum_ns / 1'000;
  report.committed_bytes = node_.committed_bytes();
  return report;
}

// About this node's own partition, the beat says more than the records do.
std::optional<command::PartitionLeader> FleetService::LeaderOf(std::uint32_t partition) const {
  if (joined_.as && partition == joined_.as->partition) {
    const NodeRecord own = Describe();
    command::FleetReport report;
    ReportLeader(Knowledge(own), report);
    if (report.leader.empty()) return std::nullopt;
    const bool is_this_node = report.role == command::FleetRole::kLeader;
    const std::uint16_t tls_port =
        is_this_node ? settings_.options.tls_port : node_.standby().Seen().tls_port;
    const NodeRecord* const record = FindRecord(view_, report.leader);
    return command::PartitionLeader{
        .host = report.leader_host,
        .port = report.leader_port,
        .tls_port = tls_port,
        .http_port = record == nullptr ? std::uint16_t{0} : record->http_port,
        .is_https = record != nullptr && record->is_https,
        .is_this_node = is_this_node};
  }
  const NodeRecord* const leader = storage::replicated::LeaderOf(view_.nodes, partition);
  if (leader == nullptr) return std::nullopt;
  const text::Address at = AnnouncedAddress(leader->address);
  return command::PartitionLeader{.host = at.host,
                                  .port = at.port,
                                  .tls_port = leader->tls_port,
                                  .http_port = leader->http_port,
                                  .is_https = leader->is_https};
}

command::FailOverStart FleetService::StartFailOver(const command::FailOverRequest& request) {
  const NodeRecord own = Describe();
  if (!own.leads) {
    const std::string leader = Report().leader;
    return {.error =
                "this node does not lead; " + (leader.empty() ? "no node does" : leader + " does")};
  }
  const auto stands_by = [&](const NodeRecord& node) {
    return !node.leads && node.name != own.name && node.partition == own.partition;
  };
  const auto first = std::ranges::find_if(view_.nodes, stands_by);
  if (first == view_.nodes.end()) return {.error = "no other node is on standby"};
  const auto warmest = WarmestStandby();
  const std::string to(request.to.empty() ? warmest.value_or(first->name) : request.to);
  const NodeRecord* const next = FindRecord(view_, to);
  if (next == nullptr || !stands_by(*next)) {
    return {.error = "the node " + to + " is not on standby; " + first->name + " is"};
  }
  if (!request.is_forced && storage::replicated::IsUnreached(view_.nodes, *next)) {
    return {.error = to + " accepts no connections at " + next->address +
                     ", say the other nodes; FORCE hands over nevertheless"};
  }
  if (!request.is_forced && !storage::replicated::HasCaughtUp(*next)) {
    observer_->Wake();
    return {.error = (warmest ? to + " has not" : "no standby has") +
                     " read the leader's log yet; FORCE hands over nevertheless",
            .may_succeed_soon = true};
  }
  successor_ = next->name;
  hooks_.hand_over("CLUSTER FAILOVER");
  return {};
}

std::string FleetService::Successor() const {
  return successor_.empty() ? WarmestStandby().value_or("") : successor_;
}

std::optional<std::string> FleetService::WarmestStandby() const {
  const NodeRecord own = Describe();
  return storage::replicated::WarmestStandby(view_.nodes, own.partition, own.name);
}

// A leader that etcd does not confirm may have been replaced already.
void FleetService::Balance() {
  if (!successor_.empty() || hooks_.unsure_ms() >= 0) return;
  successor_ = view_.successor;
  hooks_.hand_over("its machine leads too many partitions; " + successor_ + " is to lead this one");
}

std::string FleetService::AcceptRestore() {
  if (!node_.standby().AwaitsAcceptance())
    return "there is nothing to accept: etcd was not restored";
  observer_->AcceptEtcd();
  node_.standby().AcceptRestore();
  return "";
}

}  // namespace fairlock::server
