// What this server knows of the fleet whose node it is, and what an operator may ask of it.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "server/command/environment/fleet.h"
#include "server/services/cluster_settings.h"
#include "storage/log/journal.h"
#include "storage/replicated/cluster_home.h"
#include "storage/replicated/fleet_observer.h"

namespace fairlock::server {

struct FleetHooks {
  std::function<void()> hand_over;                     // leadership, then start again
  std::function<void(const std::string& why)> refuse;  // this node must not run
  std::function<bool()> is_unsure;                     // as leader
  std::function<storage::SyncTimes()> commits;         // of this process as leader
};

// Loop-confined. The thread of its observer only reads the record of this node, under a mutex.
class FleetService final : public command::Fleet {
 public:
  // All arguments must outlive this object.
  FleetService(storage::replicated::ClusterHome& node, ClusterSettings settings,
               boost::asio::io_context& io, FleetHooks hooks);

  // Begins to describe this node to the others. Returns an error if an option is wrong.
  std::string Start();
  // This node leads now.
  void TakeLead();
  // The node that leads next; empty: any. Empty too unless StartFailOver has begun.
  const std::string& successor() const { return successor_; }

  command::FleetReport Report() const override;
  std::string StartFailOver(std::string_view to) override;
  std::string AcceptRestore() override;

 private:
  void PostView();
  void TakeView();
  void ReportLeader(command::FleetReport& report) const;
  storage::replicated::NodeRecord Describe() const;
  const storage::replicated::NodeRecord* Find(std::string_view name) const;

  storage::replicated::ClusterHome& node_;
  const ClusterSettings settings_;
  boost::asio::io_context& io_;
  const FleetHooks hooks_;
  std::string successor_;
  storage::replicated::FleetView view_;
  mutable std::mutex mutex_;
  storage::replicated::NodeRecord own_;  // guarded by mutex_
  // Expires with this object, for handlers that the loop runs later.
  const std::shared_ptr<FleetService*> self_;
  std::unique_ptr<storage::replicated::FleetObserver> observer_;
};

}  // namespace fairlock::server
