// What this server knows about its fleet, and the actions that an operator can request.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "contracts/loop_confined.h"
#include "server/command/environment/fleet.h"
#include "server/net/loop/loop_poster.h"
#include "server/net/relay/node_probes.h"
#include "server/services/cluster_settings.h"
#include "server/services/fleet_report.h"
#include "storage/log/journal.h"
#include "storage/replicated/cluster_home.h"
#include "storage/replicated/fleet_observer.h"

namespace fairlock::server {

struct FleetHooks {
  // Hands over the leadership, then starts again.
  std::function<void(const std::string& why)> hand_over;
  // Called when the reason changes why this node has no partition yet.
  std::function<void(const std::string& why)> wait;
  // Called when the reason changes why this standby cannot read the leader's log.
  std::function<void(const std::string& why)> unreadable;
  // Called once, when this node knows its partition.
  std::function<void(const storage::replicated::Assignment&)> join;
  std::function<void(const std::string& why)> refuse;  // called if this node must not run
  // For how long etcd has not confirmed that this node leads, once that makes it unsure because it
  // may have been replaced; -1 if it is sure, or stands by.
  std::function<engine::DurationMs()> unsure_ms;
  std::function<storage::SyncTimes()> commits;  // the times of its commits as leader
};

// The thread of its observer only reads the record of this node, under a mutex.
class FleetService final : public command::Fleet, private contracts::LoopConfined {
 public:
  // All arguments must outlive this object.
  FleetService(storage::replicated::ClusterHome& node, ClusterSettings settings,
               boost::asio::io_context& io, FleetHooks hooks);

  // Starts to publish the record of this node. Returns an error if an option is wrong.
  std::string Start();
  // Call this when options have changed.
  void Apply(const Config& config);
  // Call this when this node has become the leader.
  void TakeLead();
  // See FleetObserver::KeepRecord.
  void KeepRecord();
  // The node that is to lead next: the one that an operator named, or the standby that can take
  // over fastest. Empty means any node.
  std::string Successor() const;
  // Whether a standby of this partition has read the leader's log, according to its record.
  bool has_warm_standby() const { return WarmestStandby().has_value(); }

  // The id of the etcd cluster that this process uses; 0 if not known yet.
  std::uint64_t etcd_cluster() const { return settings_.options.etcd.pin->id(); }

  // How clients of this fleet find the leader. kPlain as long as this node has not joined.
  command::FleetDialect dialect() const;

  command::FleetReport Report() const override;
  std::optional<command::PartitionLeader> LeaderOf(std::uint32_t partition) const override;
  command::FailOverStart StartFailOver(const command::FailOverRequest& request) override;
  std::string AcceptRestore() override;

 private:
  void TakeView();
  void Join();
  void Balance();
  void ProbeOthers();
  void NoteUnreadable();
  void NoteUnreached();
  void NoteRefusedEtcd();
  // What it knows now; `own` must outlive that.
  FleetKnowledge Knowledge(const storage::replicated::NodeRecord& own) const;
  storage::replicated::NodeRecord Describe() const;
  // The standby of this partition that can take over fastest; none if no standby has caught up.
  std::optional<std::string> WarmestStandby() const;

  storage::replicated::ClusterHome& node_;
  const ClusterSettings settings_;
  net::LoopPoster to_loop_;
  const FleetHooks hooks_;
  std::string successor_;  // the successor named in a hand-over that has begun
  struct {
    std::optional<storage::replicated::Assignment> as;  // none if there is none yet
    std::string obstacle;    // the reason that was reported last why there is none
    std::string unreadable;  // the reason that was reported last why the log cannot be read
    // The etcd cluster that an operator must accept; 0 if there is none.
    std::uint64_t doubted_etcd = 0;
  } joined_;
  storage::replicated::FleetView view_;
  net::NodeProbes probes_;
  mutable std::mutex mutex_;
  storage::replicated::NodeRecord own_;  // guarded by mutex_
  std::unique_ptr<storage::replicated::FleetObserver> observer_;
};

}  // namespace fairlock::server
