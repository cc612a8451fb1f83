// A partition in etcd as the home of its leader's log.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "storage/etcd/etcd_client.h"
#include "storage/log/log_home.h"
#include "storage/replicated/frame_writer.h"
#include "storage/replicated/replicated_store.h"
#include "storage/replicated/standby.h"

namespace fairlock::storage::replicated {

struct ClusterOptions {
  etcd::EtcdOptions etcd;
  std::string fleet;     // the name of the fleet: its keys begin with /fairlock/FLEET/
  std::string node;      // the name of this node, unique in the fleet
  std::string address;   // where clients and the other nodes reach this node: host:port
  bool compacts = true;  // this leader discards etcd's history
  std::function<TimeMs()> now_ms;
};

// The keys of the fleet's partition.
PartitionKeys KeysOf(const ClusterOptions& options);

// A node of a fleet: first a standby, then the leader until it is deposed. Only Stop and
// LastError may be called by a thread other than that of the current phase.
class ClusterHome final : public LogHome {
 public:
  // Fails if the options are wrong; etcd need not be reachable.
  static Result<std::unique_ptr<ClusterHome>> Open(ClusterOptions options);

  // Blocks until this node leads, then passes on the changes of the log as LoadLog does. kRefused:
  // Stop was called.
  Status AwaitLeadership(ChangeSink& sink);
  // Ends AwaitLeadership; as leader, a call to etcd that does not succeed is given up soon.
  void Stop();
  // The last write of the leader, when nothing else writes to the store any more.
  Status HandOver() { return store_.HandOver(""); }

  // As leader: rises with each take-over.
  std::uint64_t epoch() const { return writer_.committed().beat.epoch; }
  std::string LastError() const;

  Store& store() override { return store_; }
  const LogEnd& end() const override { return end_; }
  bool is_copy() const override { return false; }
  Status Settle() override { return {}; }
  Status Check() override { return {}; }
  std::optional<std::uint64_t> FreeBytes() const override { return std::nullopt; }

 private:
  ClusterHome(std::unique_ptr<etcd::EtcdClient> client, const ClusterOptions& options);

  std::unique_ptr<etcd::EtcdClient> client_;
  FrameWriter writer_;
  Standby standby_;
  ReplicatedStore store_;
  LogEnd end_;
};

}  // namespace fairlock::storage::replicated
