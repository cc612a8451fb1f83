// A thread that describes this node to the fleet, and reads how the others describe themselves.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "storage/etcd/etcd_client.h"
#include "storage/replicated/fleet_view.h"

namespace fairlock::storage::replicated {

struct FleetObserverOptions {
  etcd::EtcdOptions etcd;
  std::string prefix;  // of all keys of the fleet
  std::chrono::seconds lease_ttl{5};
  std::chrono::milliseconds round{1'000};
  int rounds_per_status = 5;  // how often etcd's members are asked
  std::chrono::milliseconds call_timeout{2'000};
  std::function<TimeMs()> now_ms;
  // Called by the observer's thread before and after each round.
  std::function<NodeRecord()> describe;
  std::function<void()> on_view;
};

// Writes the record of this node with a lease, so that it disappears some seconds after the node.
// Failures change nothing but FleetView::error; the next round tries again.
//
// Refuses a node whose name another running node has: one with another address, since the same
// address means an earlier process of this node, whose port this process has by now.
//
// Thread-safe.
class FleetObserver {
 public:
  // Fails if the options are wrong; etcd need not be reachable. Starts the thread.
  static Result<std::unique_ptr<FleetObserver>> Start(FleetObserverOptions options);

  FleetObserver(const FleetObserver&) = delete;
  FleetObserver& operator=(const FleetObserver&) = delete;
  // Removes the record if etcd answers at once.
  ~FleetObserver();

  FleetView View() const;
  // Begins the next round now, because the record has changed.
  void Wake();

 private:
  FleetObserver(std::unique_ptr<etcd::EtcdClient> client, FleetObserverOptions options);

  void Run();
  bool Pause();
  // Each returns why it failed, or an empty text.
  std::string CheckFleet();
  std::string KeepLease();
  std::string WriteRecord();
  std::string ReadNodes(FleetView& view);
  void AskMembers(FleetView& view);
  void Publish(FleetView view);

  const std::unique_ptr<etcd::EtcdClient> client_;
  const FleetObserverOptions options_;
  // Of the thread alone.
  struct {
    bool is_fleet_checked = false;
    std::int64_t lease = 0;  // 0: none
    NodeRecord written;      // with that lease
    TimeMs conflict_since = kNever;
    std::string refusal;
  } state_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FleetView view_;
  bool is_woken_ = false;
  bool is_stopped_ = false;
  std::thread thread_;
};

}  // namespace fairlock::storage::replicated
