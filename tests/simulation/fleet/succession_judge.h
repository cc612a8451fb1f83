// The judge of which standby leads next. It reads what etcd stores, and what nodes know.
//
// A standby is ready if, according to the records, it has read the log and is reached by at least
// half of the other nodes of its partition.
//
// 1. A leader that hands over names a standby that was ready, at some moment since the leader asked
//    for the records that it knew. It names none only if none was ready at such a moment.
// 2. A standby that is not ready, but knows one that is, waits for two seconds more than usual
//    before it takes over, unless the leader has named it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/etcd/requests.h"
#include "storage/replicated/beat.h"
#include "storage/replicated/node_record.h"
#include "tests/simulation/fleet/virtual_time.h"

namespace fairlock::fleet {

using Nodes = std::vector<storage::replicated::NodeRecord>;

// Whether this one of the nodes is ready, unless it leads.
bool IsReady(const Nodes& nodes, const storage::replicated::NodeRecord& node);

struct HandOver {
  std::string leader;
  std::uint32_t partition = 0;
  std::string successor;  // empty if there is none
  TimeUs known_at = 0;    // when the leader asked for the records that it knows
};

class SuccessionJudge {
 public:
  explicit SuccessionJudge(std::string prefix) : prefix_(std::move(prefix)) {}

  // Call this with each change of etcd, in order.
  void Hear(const storage::etcd::WatchEvent& event, TimeUs now);
  // A process of that node begins.
  void Begin(const std::string& node) { waits_since_.erase(node); }
  // A node decides how long it would wait, from the records that it knows and its own.
  void SeeRanked(const Nodes& known, const storage::replicated::NodeRecord& own, TimeUs now);
  void SeeHandOver(const HandOver& hand_over);
  // etcd was restored from a backup: from now on, nothing is judged.
  void Restore() { is_restored_ = true; }

  const std::optional<std::string>& violation() const { return violation_; }

 private:
  struct Moment {
    TimeUs since = 0;
    Nodes nodes = {};
  };
  struct Led {
    storage::replicated::Beat beat;
    TimeUs at = 0;  // when the leader wrote last
  };

  void HearRecord(const storage::etcd::WatchEvent& event, const std::string& node, TimeUs now);
  void HearBeat(std::uint32_t partition, const std::string& value, TimeUs now);
  void CheckTakeOver(const Led& before, const std::string& node, TimeUs now);
  void Fail(std::string text);

  const std::string prefix_;
  std::deque<Moment> moments_ = {{}};  // the newest ones
  // Since when each node that knows a better standby waits.
  std::map<std::string, TimeUs> waits_since_;
  std::map<std::uint32_t, Led> led_;  // the leaders by partition
  bool is_restored_ = false;
  std::optional<std::string> violation_;
};

}  // namespace fairlock::fleet
