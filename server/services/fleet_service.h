// What this server knows about its fleet, and the actions that an operator can request.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "server/command/environment/fleet.h"
#include "server/net/loop/loop_poster.h"
#include "server/services/cluster_settings.h"
#include "storage/log/journal.h"
#include "storage/replicated/cluster_home.h"
#include "storage/replicated/fleet_observer.h"

namespace fairlock::server {

struct FleetHooks {
  // Hands over the leadership, then starts again.
  std::function<void(const std::string& why)> hand_over;
  // Called when the reason changes why this node has no partition yet.
  std::function<void(const std::string& why)> wait;
  // Called once, when this node knows its partition.
  std::function<void(const storage::replicated::Assignment&)> join;
  std::function<void(const std::string& why)> refuse;  // called if this node must not run
  std::function<bool()> is_unsure;              // whether, as leader, it may have been replaced
  std::function<storage::SyncTimes()> commits;  // the times of its commits as leader
};

// Loop-confined. The thread of its observer only reads the record of this node, under a mutex.
class FleetService final : public command::Fleet {
 public:
  // All arguments must outlive this object.
  FleetService(storage::replicated::ClusterHome& node, ClusterSettings settings,
               boost::asio::io_context& io, FleetHooks hooks);

  // Starts to publish the record of this node. Returns an error if an option is wrong.
  std::string Start();
  // Call this when this node has become the leader.
  void TakeLead();
  // See FleetObserver::KeepRecord.
  void KeepRecord();
  // The node that is to lead next; empty: any node, or no hand-over has begun.
  const std::string& successor() const { return successor_; }

  // How clients of this fleet find the leader. kPlain as long as this node has not joined.
  command::FleetDialect dialect() const;

  command::FleetReport Report() const override;
  std::optional<command::PartitionLeader> LeaderOf(std::uint32_t partition) const override;
  std::string StartFailOver(std::string_view to) override;
  std::string AcceptRestore() override;

 private:
  void TakeView();
  void Join();
  void Balance();
  void ReportLeader(command::FleetReport& report) const;
  storage::replicated::NodeRecord Describe() const;
  const storage::replicated::NodeRecord* Find(std::string_view name) const;

  storage::replicated::ClusterHome& node_;
  const ClusterSettings settings_;
  net::LoopPoster to_loop_;
  const FleetHooks hooks_;
  std::string successor_;
  struct {
    std::optional<storage::replicated::Assignment> as;  // none: not yet
    std::string obstacle;                               // why not, as told last
  } joined_;
  storage::replicated::FleetView view_;
  mutable std::mutex mutex_;
  storage::replicated::NodeRecord own_;  // guarded by mutex_
  std::unique_ptr<storage::replicated::FleetObserver> observer_;
};

}  // namespace fairlock::server
