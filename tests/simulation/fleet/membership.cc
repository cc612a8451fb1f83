#include "tests/simulation/fleet/membership.h"

#include <cassert>
#include <chrono>
#include <utility>

#include "storage/replicated/fleet_record.h"
#include "storage/replicated/succession.h"

namespace fairlock::fleet {

namespace {

using storage::replicated::NodeRecord;

constexpr std::uint16_t kPort = 3'247;

}  // namespace

Membership::Membership(storage::replicated::ClusterHome& home, MembershipOptions options)
    : options_(std::move(options)),
      home_(home),
      own_{.name = options_.node,
           .run = options_.run,
           .address = options_.node,
           .machine = options_.machine,
           .is_in_sync = true,
           .started_unix_ms = options_.started_unix_ms} {
  auto observer = storage::replicated::FleetObserver::Start(
      {.etcd = options_.etcd,
       .prefix = storage::replicated::FleetPrefix(kFleetName),
       .creates_fleet = false,
       .partition = options_.partition,
       .balance_after = std::chrono::milliseconds(options_.balance_after / kMs),
       .now_ms = options_.now_ms,
       .describe = [this] { return Describe(); },
       .on_view = options_.on_view});
  assert(observer.ok());
  observer_ = std::move(observer.value());
}

NodeRecord Membership::Describe() const {
  NodeRecord record = own_;
  if (record.leads) return record;
  const storage::replicated::StandbyLag lag = home_.lag();
  record.is_in_sync = lag.is_following;
  record.frames_behind = lag.frames;
  return record;
}

void Membership::TakeLead() {
  own_.leads = true;
  own_.epoch = home_.epoch();
  observer_->Wake();
}

std::string Membership::TakeView() {
  view_ = observer_->View();
  if (view_.assignment) own_.partition = view_.assignment->partition;
  NoteUnreached();
  const NodeRecord own = Describe();
  home_.standby().set_rank(RankOf(view_, own));
  options_.ranked(view_, own);
  if (!view_.refusal.empty()) return view_.refusal;
  if (!assignment_) assignment_ = view_.assignment;
  if (!view_.assignment || assignment_ == view_.assignment) return "";
  return "it serves partition " + std::to_string(assignment_->partition) +
         ", but its assignment has changed to " + std::to_string(view_.assignment->partition);
}

// Does what FleetService does with the results of NodeProbes.
void Membership::NoteUnreached() {
  std::string unreached;
  for (const NodeRecord& node : view_.nodes) {
    const bool is_other = node.partition == own_.partition && node.name != own_.name;
    if (!is_other || options_.reaches(node.name)) continue;
    unreached += (unreached.empty() ? "" : " ") + node.name;
  }
  if (std::exchange(own_.unreached, unreached) != unreached) observer_->Wake();
}

std::string Membership::WarmestStandby() const {
  return storage::replicated::WarmestStandby(view_.nodes, own_.partition, own_.name).value_or("");
}

server::FleetKnowledge Membership::Knowledge(const NodeRecord& own) const {
  return {.own = own,
          .view = view_,
          .seen = home_.standby().Seen(),
          .heard_ms_ago = home_.standby().HeardMsAgo(),
          .awaits_acceptance = home_.standby().AwaitsAcceptance(),
          .unsure_ms = options_.unsure_ms()};
}

command::FleetReport Membership::Report() const {
  command::FleetReport report;
  report.fleet = kFleetName;
  report.node = own_.name;
  if (assignment_) {
    const bool has_others = assignment_->partitions > 1;
    report.dialect = has_others ? command::FleetDialect::kCluster : command::FleetDialect::kPlain;
    report.partition = assignment_->partition;
    report.partitions = assignment_->partitions;
  }
  const NodeRecord own = Describe();
  ReportFleet(Knowledge(own), report);
  if (view_.read_at != storage::replicated::kNever) {
    report.age_ms = options_.now_ms() - view_.read_at;
  }
  return report;
}

std::optional<command::PartitionLeader> Membership::LeaderOf(std::uint32_t partition) const {
  if (!assignment_ || partition != assignment_->partition) {
    const NodeRecord* const leader = storage::replicated::LeaderOf(view_.nodes, partition);
    if (leader == nullptr) return std::nullopt;
    return command::PartitionLeader{.host = leader->address, .port = kPort};
  }
  const NodeRecord own = Describe();
  command::FleetReport report;
  ReportLeader(Knowledge(own), report);
  if (report.leader.empty()) return std::nullopt;
  return command::PartitionLeader{.host = report.leader_host,
                                  .port = kPort,
                                  .is_this_node = report.role == command::FleetRole::kLeader};
}

}  // namespace fairlock::fleet
