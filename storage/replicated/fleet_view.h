// The fleet as one node last saw it. Used only for display.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/replicated/leadership.h"
#include "storage/replicated/node_record.h"

namespace fairlock::storage::replicated {

struct MemberState {
  std::string endpoint = {};
  std::string error = {};  // why the member did not answer; empty: it answered
  std::string version = {};
  bool is_leader = false;
  std::uint64_t size_bytes = 0;
  std::uint64_t size_in_use_bytes = 0;
};

struct FleetView {
  TimeMs read_at = kNever;             // when the nodes were read; kNever: not yet
  std::string error = {};              // why the last attempt to read them failed; empty: no error
  std::vector<NodeRecord> nodes = {};  // sorted by name
  std::vector<MemberState> etcd = {};  // in the order of the options; empty: not asked yet
  bool has_no_space = false;           // etcd has raised the alarm NOSPACE
  // Why this node must not run: its name is taken, or this version cannot be part of the fleet.
  std::string refusal = {};
};

// The rank of a node among the standbys, in the order of their names.
std::uint32_t RankOf(const FleetView& view, const std::string& node);
// The size of the largest database of an etcd member; 0: not known.
std::uint64_t LargestDatabase(const FleetView& view);

}  // namespace fairlock::storage::replicated
