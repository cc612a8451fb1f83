// Decides when a leader hands its partition over because its machine leads more partitions than
// others do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/replicated/leadership.h"
#include "storage/replicated/node_record.h"
#include "storage/replicated/succession.h"

namespace fairlock::storage::replicated {

// The standby to which `own` should hand its partition over; none if it should not hand over. That
// is a standby of the partition that has caught up, and whose machine leads at least two partitions
// fewer than the machine of `own`. Among several, the one whose machine leads the fewest is chosen,
// then the one with the lowest name.
//
// No node is chosen while a partition has no leader, or while a node loads its log.
//
// Each hand-over reduces the sum of the squares of the numbers of partitions that the machines
// lead, so hand-overs end.
std::optional<std::string> ChooseSuccessor(std::span<const NodeRecord> nodes,
                                           std::uint32_t partitions, const NodeRecord& own);

// A node hands over only if nothing has changed for a while: neither which nodes lead, nor the key
// that changes with each such hand-over and whenever a node joins the fleet.
//
// Not thread-safe.
class LeaderBalance {
 public:
  // `calm_ms` is that time. 0 means that this node never hands over.
  explicit LeaderBalance(DurationMs calm_ms) : calm_ms_(calm_ms) {}

  bool is_enabled() const { return calm_ms_ > 0; }
  // Takes what a leader has read. Returns whether it may hand over now.
  bool See(std::span<const NodeRecord> nodes, std::uint32_t partitions,
           std::int64_t claims_revision, TimeMs now);
  // Call this while this node does not lead, or cannot read what changes.
  void Forget() { seen_ = {}; }

 private:
  struct Seen {
    // The name and the epoch of each partition's leader. Empty if nothing has been seen.
    std::vector<std::pair<std::string, std::uint64_t>> leaders = {};
    std::int64_t claims_revision = 0;

    bool operator==(const Seen&) const = default;
  };

  const DurationMs calm_ms_;
  Seen seen_;
  TimeMs calm_since_ = 0;
};

}  // namespace fairlock::storage::replicated
