// The fleet as one node last saw it. It may be out of date.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/replicated/leadership.h"
#include "storage/replicated/node_record.h"

namespace fairlock::storage::replicated {

struct MemberState {
  std::string endpoint = {};
  std::string error = {};   // why the member serves nothing; empty if it serves
  bool is_refused = false;  // whether it belongs to another etcd cluster
  std::string version = {};
  bool is_leader = false;
  std::uint64_t size_bytes = 0;
  std::uint64_t size_in_use_bytes = 0;
};

// The partition that a node serves as long as its process lives.
struct Assignment {
  std::uint32_t partition = 0;
  std::uint32_t partitions = 1;  // how many the fleet has

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

struct FleetView {
  // The assignment of this node; none if there is none yet.
  std::optional<Assignment> assignment = {};
  TimeMs read_at = kNever;  // when it asked for the nodes; kNever if it has not asked yet
  std::string error = {};   // why the last attempt to read them failed; empty if it did not fail
  std::vector<NodeRecord> nodes = {};  // sorted by name
  std::vector<MemberState> etcd = {};  // in the order of the options; empty if not asked yet
  bool has_no_space = false;           // etcd has raised the alarm NOSPACE
  // This etcd cluster is not the one that the fleet has used, or another one than this process has
  // used before.
  bool is_other_etcd = false;
  // Why this node must not run: its name is taken, or this version cannot be part of the fleet.
  std::string refusal = {};
  // The node to which this node, as leader, must hand its partition over, because its machine leads
  // too many; empty if there is none. Only this view says so.
  std::string successor = {};
};

// The node that leads the partition; null if none does, as far as is known.
const NodeRecord* LeaderOf(std::span<const NodeRecord> nodes, std::uint32_t partition);
// The size of the largest database of an etcd member; 0 if it is not known.
std::uint64_t LargestDatabase(const FleetView& view);

// Chooses the partition that a new node of a fleet serves.
//
// The partition with the fewest nodes. Among several, one that has no node on the machine of `own`
// is preferred, then the one with the lowest number. A record with the name of `own` is of an
// earlier process of this node, and does not count. REQUIRES: partitions > 0.
std::uint32_t ChoosePartition(std::span<const NodeRecord> nodes, std::uint32_t partitions,
                              const NodeRecord& own);

}  // namespace fairlock::storage::replicated
