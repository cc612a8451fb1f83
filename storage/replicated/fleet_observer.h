// A thread that publishes the record of this node to the fleet, and reads the records of the
// others.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "storage/etcd/etcd_client.h"
#include "storage/replicated/fleet_record.h"
#include "storage/replicated/fleet_view.h"
#include "storage/replicated/leader_balance.h"

namespace fairlock::storage::replicated {

struct FleetObserverOptions {
  etcd::EtcdOptions etcd;
  std::string prefix;  // the prefix of all keys of the fleet
  // Whether this node creates a fleet of one partition if the fleet does not exist.
  bool creates_fleet = true;
  // The partition that this node must serve; none means the one that has the fewest nodes.
  std::optional<std::uint32_t> partition = {};
  // See LeaderBalance; 0 means that this node never hands over for the balance.
  std::chrono::milliseconds balance_after{0};
  std::chrono::seconds lease_ttl{5};
  std::chrono::milliseconds round{1'000};
  int rounds_per_status = 5;  // etcd's members are asked for their status once in this many rounds
  std::chrono::milliseconds call_timeout{2'000};
  std::function<TimeMs()> now_ms;
  // Called by the observer's thread before and after each round. The observer itself fills in the
  // record's partition.
  std::function<NodeRecord()> describe;
  std::function<void()> on_view;
};

// Reads the description of the fleet, which may have to be created first. Assigns a partition to
// this node, which never changes.
//
// Writes the record of this node with a lease, so that it disappears a few seconds after the node.
// Failures only change FleetView::error; the next round tries again.
//
// Refuses this node if another running node has the same name but a different address. If the
// address is also the same, the record belongs to an earlier process of this node, which must be
// gone because this process has its port. Of two nodes that have both had their record written, for
// example because the lease of one of them ran out, the one that was started later is refused.
//
// Decides when this node, as leader, hands its partition over because its machine leads too many.
// It first changes the key `claims`, which must not have changed since it decided so. So of several
// leaders that decide the same, only one hands over.
//
// Thread-safe.
class FleetObserver {
 public:
  // Fails if the options are wrong; etcd need not be reachable. Starts the thread.
  static Result<std::unique_ptr<FleetObserver>> Start(FleetObserverOptions options);

  FleetObserver(const FleetObserver&) = delete;
  FleetObserver& operator=(const FleetObserver&) = delete;
  // Removes the record if etcd answers at once, unless KeepRecord was called.
  ~FleetObserver();

  FleetView View() const;
  // Begins the next round at once. Call this when the record has changed.
  void Wake();
  // Call this when an operator accepts that this etcd cluster continues the fleet. Writes its id to
  // the description of the fleet.
  void AcceptEtcd();
  // Call this if the process is about to start again: the record then stays until its lease ends,
  // so that no other node takes this one's place in its partition.
  void KeepRecord();

 private:
  FleetObserver(std::unique_ptr<etcd::EtcdClient> client, FleetObserverOptions options);

  void Run();
  bool Pause();
  // Each of these returns the reason why it failed, or an empty string.
  std::string CheckFleet();
  std::string CheckEtcd(FleetView& view);
  bool IsEtcdAccepted() const;
  std::string KeepEtcd(const etcd::KeyValue& found, FleetRecord record, std::uint64_t cluster);
  std::string KeepLease();
  std::string WriteRecord();
  std::string Choose(NodeRecord& own, etcd::Txn& txn);
  std::string ReadClaims(std::int64_t& revision);
  // Whether the record of this node may replace another one of the same name.
  bool MayReplace(const NodeRecord& record, const NodeRecord& other) const;
  void NoteConflict(const NodeRecord& other);
  std::string ReadRecords(std::vector<NodeRecord>& nodes);
  std::string ReadNodes(FleetView& view);
  std::string Balance(FleetView& view);
  std::string ClaimHandOver(std::int64_t claims_revision, const std::string& successor,
                            FleetView& view);
  void AskMembers(FleetView& view);
  void Publish(FleetView view);

  const std::unique_ptr<etcd::EtcdClient> client_;
  const FleetObserverOptions options_;
  // Used only by the thread.
  struct {
    std::uint32_t partitions = 0;  // 0 if the description of the fleet has not been read yet
    std::optional<Assignment> assignment;
    std::int64_t lease = 0;  // 0 if there is none
    NodeRecord written;      // the record that was written with that lease
    bool had_name = false;   // whether this run has ever written its record
    TimeMs conflict_since = kNever;
    std::string refusal;
    // The etcd cluster whose id is in the description of the fleet, as read last; 0 if it was not
    // read.
    std::uint64_t etcd_cluster = 0;
  } state_;
  LeaderBalance balance_;  // used only by the thread
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FleetView view_;
  // What other threads have asked for.
  struct {
    bool is_woken = false;
    bool is_stopped = false;
    bool keeps_record = false;
    bool accepts_etcd = false;
  } asked_;
  std::thread thread_;
};

}  // namespace fairlock::storage::replicated
