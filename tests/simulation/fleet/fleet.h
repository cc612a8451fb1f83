// A fleet in virtual time: nodes, etcd, clients, and all the faults that strike them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/fleet/client.h"
#include "tests/simulation/fleet/etcd_network.h"
#include "tests/simulation/fleet/ledger.h"
#include "tests/simulation/fleet/listener.h"
#include "tests/simulation/fleet/run.h"

namespace fairlock::fleet {

// The parameters that a seed chooses.
struct Setting {
  std::uint64_t seed = 0;
  int partitions = 1;
  int nodes = 3;
  int late_nodes = 0;            // how many join later
  int machines = 1;              // on which the nodes run
  int lost_nodes_max = 0;        // how many nodes may be lost for good
  bool has_fixed_nodes = false;  // the configuration of some nodes says which partition they serve
  TimeUs created_at = 0;         // when the fleet is created
  TimeUs balance_after = 0;      // cluster_balance
  bool has_only_slow_etcd = false;  // etcd is slow, and nothing else goes wrong
  int clients = 0;
  int keys = 0;
  TimeUs think = 0;
  TimeUs restart_grace = 0;
  TimeUs turn = 0;
  TimeUs wall_skew = 0;  // the maximum difference between the nodes' wall clocks
  bool keeps_lines = true;
  int listeners = 0;
  bool restores_backup = false;
  bool restore_spares_standbys = false;
  std::int64_t etcd_revision = 1;
  std::int64_t compact_every = 0;
  std::size_t frame_bytes_max = 0;
  std::uint64_t batch_bytes_max = 0;
  std::uint64_t batches_max = 0;  // after this many, a snapshot begins; if 0, only bytes count
  std::size_t kept_bytes_max = 0;
  TimeUs trouble_every = 0;
  NetworkFaults network = {};
  bool has_records = false;        // whether nodes write records, as with several partitions
  std::optional<int> unreachable;  // the node that accepts no connections
  // What etcd's operators do, and what happens at bad moments.
  bool changes_passwords = false;    // sometimes etcd refuses all logins for a while
  bool has_second_endpoint = false;  // which sometimes leads to another etcd cluster
  bool cuts_off_for_long = false;
  bool fails_at_take_overs = false;  // etcd stops when a node has loaded the locks
  bool breaks_watches = false;       // the watches of one node fail for a while
};

// One seed in four has a fleet of several partitions; with `has_partitions`, every seed has.
Setting MakeSetting(std::uint64_t seed, bool has_partitions = false);
std::string TextOf(const Setting& setting);

struct HistoryLine {
  TimeUs time = 0;
  int key = -1;  // -1 if the line is about the fleet
  std::string text;
};

struct FleetReport {
  std::optional<Violation> violation;
  std::uint64_t replies = 0;         // how many replies clients received
  std::uint64_t leads = 0;           // how often a node took over and became ready
  std::uint64_t hand_overs = 0;      // how many leaders handed over for the balance
  std::uint64_t hash = 0;            // a hash over all replies and their times
  std::vector<HistoryLine> history;  // empty unless requested
};

FleetReport RunFleet(const Setting& setting, bool has_history);

}  // namespace fairlock::fleet
