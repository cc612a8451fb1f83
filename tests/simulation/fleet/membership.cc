#include "tests/simulation/fleet/membership.h"

#include <cassert>
#include <chrono>
#include <utility>

#include "storage/replicated/fleet_record.h"
#include "storage/replicated/succession.h"

namespace fairlock::fleet {

namespace {

using storage::replicated::Beat;
using storage::replicated::NodeRecord;

constexpr std::uint16_t kPort = 3'247;

}  // namespace

Membership::Membership(storage::replicated::ClusterHome& home, const MembershipOptions& options)
    : home_(home),
      own_{.name = options.node,
           .run = options.run,
           .address = options.node,
           .machine = options.machine,
           .is_in_sync = true,
           .started_unix_ms = options.started_unix_ms} {
  auto observer = storage::replicated::FleetObserver::Start(
      {.etcd = options.etcd,
       .prefix = storage::replicated::FleetPrefix(kFleetName),
       .creates_fleet = false,
       .partition = options.partition,
       .balance_after = std::chrono::milliseconds(options.balance_after / kMs),
       .now_ms = options.now_ms,
       .describe = [this] { return Describe(); },
       .on_view = options.on_view});
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
  home_.standby().set_rank(RankOf(view_, Describe()));
  if (!view_.refusal.empty()) return view_.refusal;
  if (!assignment_) assignment_ = view_.assignment;
  if (!view_.assignment || assignment_ == view_.assignment) return "";
  return "it serves partition " + std::to_string(assignment_->partition) +
         ", but its assignment has changed to " + std::to_string(view_.assignment->partition);
}

command::FleetReport Membership::Report() const {
  command::FleetReport report;
  report.fleet = kFleetName;
  report.node = own_.name;
  report.dialect = command::FleetDialect::kCluster;
  if (assignment_) {
    report.partition = assignment_->partition;
    report.partitions = assignment_->partitions;
  }
  if (own_.leads) report.role = command::FleetRole::kLeader;
  return report;
}

std::optional<command::PartitionLeader> Membership::LeaderOf(std::uint32_t partition) const {
  if (!assignment_ || partition != assignment_->partition) {
    const NodeRecord* const leader = storage::replicated::LeaderOf(view_.nodes, partition);
    if (leader == nullptr) return std::nullopt;
    return command::PartitionLeader{.host = leader->address, .port = kPort};
  }
  if (own_.leads) {
    return command::PartitionLeader{.host = own_.address, .port = kPort, .is_this_node = true};
  }
  const Beat seen = home_.standby().Seen();
  const bool is_led =
      seen.epoch != 0 && seen.state == Beat::State::kLeading && seen.leader != own_.name;
  if (!is_led) return std::nullopt;
  return command::PartitionLeader{.host = seen.address, .port = kPort};
}

}  // namespace fairlock::fleet
