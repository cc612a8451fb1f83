// The fleet as one node last saw it: for lists only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/replicated/leadership.h"
#include "storage/replicated/node_record.h"

namespace fairlock::storage::replicated {

struct MemberState {
  std::string endpoint = {};
  std::string error = {};  // why it did not answer; empty: it answered
  std::string version = {};
  bool is_leader = false;
  std::uint64_t size_bytes = 0;
  std::uint64_t size_in_use_bytes = 0;
};

struct FleetView {
  TimeMs read_at = kNever;             // when the nodes were read; kNever: not yet
  std::string error = {};              // why they could not be read since; empty: they could
  std::vector<NodeRecord> nodes = {};  // by name
  std::vector<MemberState> etcd = {};  // in the order of the options; empty: not asked yet
  bool has_no_space = false;           // etcd's alarm NOSPACE is raised
  // Why this node must not run: its name is taken, or the fleet is of another kind.
  std::string refusal = {};
};

// The place of a node among those that stand by, by name.
std::uint32_t RankOf(const FleetView& view, const std::string& node);
// The size of the largest database; 0: not known.
std::uint64_t LargestDatabase(const FleetView& view);

}  // namespace fairlock::storage::replicated
