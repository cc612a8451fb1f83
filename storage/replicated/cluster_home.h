// A partition in etcd as the home of its leader's log.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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
  std::string address;             // host:port at which clients and other nodes reach this node
  std::uint16_t tls_port = 0;      // on the same host; 0 if there is none
  bool compacts = true;            // whether this node, as leader, discards etcd's history
  std::function<TimeMs()> now_ms;  // thread-safe
  std::function<void(const LeaderView&)> on_leader;  // as in StandbyOptions
  Beat highest = {};                                 // as in LeadershipOptions
};

// A node of a fleet: first a standby of one partition, then its leader until it is deposed. A
// standby is warm: it follows the log while it waits, so that little is left to read when it takes
// over.
//
// All functions belong to the thread of the current phase, except Stop, LeaderRefused, lag,
// LastError, and those that are marked as being for every thread.
class ClusterHome final : public LogHome {
 public:
  // Fails if the options are wrong; etcd need not be reachable.
  static Result<std::unique_ptr<ClusterHome>> Open(ClusterOptions options);

  // Tells which partition this node serves, once. May be called by any thread.
  void UsePartition(std::uint32_t partition);
  // Blocks until UsePartition has been called and this node leads. The sink that `new_sink`
  // returned last has then received the changes in the log, as LoadLog passes them on. While this
  // blocks, another thread may call `new_sink`; it is not called afterwards. Beats are written
  // until the first append to the store. Returns kRefused if Stop was called, or if the fleet's log
  // is being imported.
  Status AwaitLeadership(NewSink new_sink);
  // Ends AwaitLeadership. If this node leads, a call to etcd is given up after this many failed
  // attempts, and so is every call after it.
  void Stop(int attempts_max = 3);
  // Makes the last write of the leader. Call this when nothing else writes to the store any more.
  // `successor` is the name of a node; empty means any node.
  Status HandOver(const std::string& successor) { return store_.HandOver(successor); }
  // See Standby::LeaderRefused.
  void LeaderRefused(const RunId& run) { standby_.LeaderRefused(run); }

  // The newest beat that this node has seen. REQUIRES: it has led, and nothing is being written.
  const Beat& HighestSeen() const;
  // The epoch of this leader, which increases with each take-over.
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t committed_bytes() const { return store_.committed_bytes(); }
  // How far this node is behind the leader. Meaningful before the take-over.
  StandbyLag lag() const { return tail_.lag(); }
  std::string LastError() const;
  // May be called in every phase and by every thread.
  Standby& standby() { return standby_; }
  void set_database_bytes_left(std::uint64_t bytes) { bytes_left_ = bytes; }

  Store& store() override { return store_; }
  const LogEnd& end() const override { return end_; }
  // If the beat has gone back, the log may not include all tokens that were granted, so tokens must
  // start higher, as in a copy.
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
  Status AwaitPartition();
  Status BeginLogIfNew();
  Status ReadRest();

  const std::string prefix_;  // the prefix of the fleet's keys
  struct {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::uint32_t> number;
    bool is_stopped = false;
  } partition_;
  std::unique_ptr<etcd::EtcdClient> client_;
  FrameWriter writer_;
  Standby standby_;
  ReplicatedStore store_;
  LogTail tail_;
  LogEnd end_;
  std::atomic<std::uint64_t> bytes_left_ = kUnknown;  // how much fits until etcd's quota is reached
  std::uint64_t epoch_ = 0;
};

}  // namespace fairlock::storage::replicated
