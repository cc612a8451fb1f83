// A partition in etcd as the home of its leader's log.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "storage/etcd/etcd_client.h"
#include "storage/log/log_home.h"
#include "storage/replicated/frame_writer.h"
#include "storage/replicated/log_tail.h"
#include "storage/replicated/replicated_store.h"
#include "storage/replicated/standby.h"

namespace fairlock::storage::replicated {

struct ClusterOptions {
  etcd::EtcdOptions etcd;
  std::string fleet;               // the name of the fleet: its keys begin with /fairlock/FLEET/
  std::string node;                // the name of this node, unique in the fleet
  std::string address;             // where clients and the other nodes reach this node: host:port
  std::uint16_t tls_port = 0;      // at the same host; 0: none
  bool compacts = true;            // this leader discards etcd's history
  std::function<TimeMs()> now_ms;  // thread-safe
  std::function<void(const LeaderView&)> on_leader;  // as in StandbyOptions
  Beat highest = {};                                 // as in LeadershipOptions
};

// The keys of the fleet's partition.
PartitionKeys KeysOf(const ClusterOptions& options);
// What the keys of a fleet begin with.
std::string FleetPrefix(const std::string& fleet);

// A node of a fleet: first a standby, then the leader until it is deposed. A standby is warm: it
// follows the log while it waits, so that little is left to read when it takes over.
//
// Only Stop, LeaderRefused, lag, LastError, and what is said to be for every thread, may be called
// by a thread other than that of the current phase.
class ClusterHome final : public LogHome {
 public:
  // Fails if the options are wrong; etcd need not be reachable.
  static Result<std::unique_ptr<ClusterHome>> Open(ClusterOptions options);

  // Blocks until this node leads. Then the sink that `new_sink` returned last has the changes of
  // the log, as LoadLog passes them on; `new_sink` may be called by another thread meanwhile, and
  // not after the return. Until the first append to the store, beats are written. kRefused: Stop
  // was called.
  Status AwaitLeadership(NewSink new_sink);
  // Ends AwaitLeadership. As leader, a call to etcd is given up after this many attempts that did
  // not succeed, and so is every call after it.
  void Stop(int attempts_max = 3);
  // The last write of the leader, when nothing else writes to the store any more. `successor` is
  // the name of a node; empty: any.
  Status HandOver(const std::string& successor) { return store_.HandOver(successor); }
  // As Standby has it.
  void LeaderRefused(const RunId& run) { standby_.LeaderRefused(run); }

  // The newest beat that this node has seen, once it led and nothing is being written.
  const Beat& HighestSeen() const;
  // As leader: rises with each take-over.
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t committed_bytes() const { return store_.committed_bytes(); }
  // Before the take-over: how far this node is behind the leader.
  StandbyLag lag() const { return tail_.lag(); }
  std::string LastError() const;
  // For every phase and thread.
  Standby& standby() { return standby_; }
  void set_database_bytes_left(std::uint64_t bytes) { bytes_left_ = bytes; }

  Store& store() override { return store_; }
  const LogEnd& end() const override { return end_; }
  // A register that went back may belong to a log that lacks tokens which were granted since.
  bool is_copy() const override { return standby_.is_restored(); }
  Status Settle() override { return {}; }
  Status Check() override { return {}; }
  std::optional<std::uint64_t> FreeBytes() const override {
    return bytes_left_ == kUnknown ? std::nullopt : std::optional(bytes_left_.load());
  }

 private:
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  ClusterHome(std::unique_ptr<etcd::EtcdClient> client,
              std::unique_ptr<etcd::EtcdClient> reading_client, const ClusterOptions& options);
  Status BeginLogIfNew();
  Status ReadRest();

  std::unique_ptr<etcd::EtcdClient> client_;
  FrameWriter writer_;
  Standby standby_;
  ReplicatedStore store_;
  LogTail tail_;
  LogEnd end_;
  std::atomic<std::uint64_t> bytes_left_ = kUnknown;  // until etcd's quota is reached
  std::uint64_t epoch_ = 0;
};

}  // namespace fairlock::storage::replicated
