// What a node knows about its fleet, for commands, INFO, the metrics and the API.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::command {

enum class FleetRole : std::uint8_t {
  kStandby,
  kLeader,
  // Its record says that it leads, but another node does, or it has not been heard of for some
  // seconds: it is dead or cut off, has not learned yet that it was deposed, or etcd has failed.
  kLost,
  kUnsure  // this node itself, which leads, but etcd does not confirm it
};

// How clients find the leader.
enum class FleetDialect : std::uint8_t {
  kPlain,   // any node: a standby passes connections on to the leader
  kCluster  // as in Redis Cluster: a node answers MOVED for keys that it does not serve
};

// A node, as it last described itself in etcd.
struct FleetNode {
  std::string name;
  std::string host;  // where others can reach the node
  std::uint16_t port = 0;
  std::uint16_t tls_port = 0;       // 0: none
  std::uint16_t sentinel_port = 0;  // 0: none
  std::string version;
  std::uint32_t partition = 0;
  FleetRole role = FleetRole::kStandby;
  std::uint64_t epoch = 0;  // of a leader
  bool is_in_sync = false;  // a standby that follows the log of the leader
  std::uint64_t frames_behind = 0;
  bool is_unreached = false;  // most other nodes cannot connect to it
  std::int64_t started_unix_ms = 0;
  // The options that must be the same on all nodes, as words NAME=VALUE; empty: not known.
  std::string options = {};
  // The members of etcd that it refuses, because they belong to another etcd cluster, separated by
  // spaces.
  std::string refused_etcd = {};
};

// The port that clients of a node connect to.
inline std::uint16_t AnnouncedPort(const FleetNode& node) {
  return node.port != 0 ? node.port : node.tls_port;
}

struct EtcdMember {
  std::string endpoint;
  std::string error;  // why the member serves nothing; empty: it serves
  std::string version;
  bool is_leader = false;
  std::uint64_t size_bytes = 0;         // size of its database file
  std::uint64_t size_in_use_bytes = 0;  // size of its data; a defragmentation would free the rest
};

struct FleetReport {
  std::string fleet;  // its name
  std::string node;   // the name of this node
  FleetDialect dialect = FleetDialect::kPlain;
  std::uint32_t partition = 0;   // the partition that this node serves
  std::uint32_t partitions = 0;  // how many the fleet has; 0: not known yet
  FleetRole role = FleetRole::kStandby;
  std::uint64_t epoch = 0;  // increases with each take-over
  // The name of the node that leads this node's partition; empty: none, as far as this node knows.
  std::string leader;
  std::string leader_host;
  std::uint16_t leader_port = 0;
  std::int64_t leads_since_unix_ms = 0;  // when this node first saw that leader; 0: no leader
  std::string last_leader;               // if none leads: the node that led last; empty: not known
  // How long ago this node heard of the leader, or of the last one, or etcd confirmed that it leads
  // itself; -1: it leads, or has heard of none.
  std::int64_t leader_heard_ms = -1;
  // If set, etcd was restored from a backup, and no node takes over until an operator accepts that.
  bool awaits_acceptance = false;
  // If set, this node is a standby that passes its clients' connections on to the leader.
  bool relays = false;

  // How long ago the lists were read; -1: not yet.
  std::int64_t age_ms = -1;
  std::string error;             // why they could not be updated since then; empty: no error
  std::vector<FleetNode> nodes;  // sorted by name
  std::vector<EtcdMember> etcd;  // in the order of the option cluster_etcd
  std::uint64_t quota_bytes = 0;
  bool is_short_of_quota = false;  // no new locks are granted
  bool has_no_space = false;       // etcd accepts no writes: its NOSPACE alarm is raised

  // How many transactions this process has committed as leader since it started, and their total
  // time.
  std::uint64_t commits = 0;
  std::uint64_t commits_us = 0;
  std::uint64_t committed_bytes = 0;
  // This node leads, but has had no confirmation from etcd for 2 s. Then another node may lead: it
  // reports no leader, and itself as the last one.
  bool is_unsure = false;
};

// Whether both serve the same partition.
inline bool IsPeer(const FleetReport& report, const FleetNode& node) {
  return node.partition == report.partition;
}

// Where clients reach the leader of a partition.
struct PartitionLeader {
  std::string host;
  std::uint16_t port = 0;       // 0: only by TLS
  std::uint16_t tls_port = 0;   // 0: none
  std::uint16_t http_port = 0;  // 0: none, or not known yet
  bool is_https = false;        // whether http_port is for TLS
  bool is_this_node = false;
};

// Returns a node's replication offset as Redis counts it, but in transactions: the leader's offset
// is the number of its transactions since its start, and a standby's is smaller by the number of
// frames that it is behind. Only the leader knows offsets; on other nodes they are 0.
inline std::uint64_t OffsetOf(const FleetReport& report, const FleetNode& node) {
  return report.commits - std::min(node.frames_behind, report.commits);
}

struct FailOverRequest {
  std::string_view to = {};  // the name of a node; empty: any
  bool is_forced = false;    // also to a standby that has not read the leader's log yet
};

struct FailOverStart {
  std::string error = {};  // why the fail-over has not begun; empty: it has
  // The same request may succeed in a moment, when a standby has read the leader's log.
  bool may_succeed_soon = false;
};

// Implemented by the server, faked in tests. Loop-confined.
class Fleet {
 public:
  virtual FleetReport Report() const = 0;
  // The leader of the partition, as far as this node knows.
  virtual std::optional<PartitionLeader> LeaderOf(std::uint32_t partition) const = 0;
  // Hands leadership over to a standby: to the node of that name, or to the standby that can take
  // over fastest if the name is empty.
  virtual FailOverStart StartFailOver(const FailOverRequest& request) = 0;
  // Called when an operator accepts the state to which etcd was restored. Returns an empty string
  // on success, otherwise the error.
  virtual std::string AcceptRestore() = 0;

 protected:
  ~Fleet() = default;
};

}  // namespace fairlock::command
