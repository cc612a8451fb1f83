// The judge of what nodes say about who leads.
//
// 1. A leader that is unsure, or was replaced a few seconds ago, does not call itself the leader.
// 2. A node names no leader of which, as it says itself, it has not heard for a few seconds. 3. Of
// its partition, only the leader that it names is shown as one. 4. A node whose record says that it
// leads is not shown as a standby.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "server/command/environment/fleet.h"
#include "storage/etcd/requests.h"
#include "tests/simulation/fleet/virtual_time.h"

namespace fairlock::fleet {

// What a node says, and what is true.
struct Statement {
  const command::FleetReport& report;
  bool is_unsure = false;  // it leads, but etcd does not confirm it
  TimeUs since = 0;        // when its last pause ended, or it had loaded the locks
};

class ReportJudge {
 public:
  explicit ReportJudge(std::string prefix) : prefix_(std::move(prefix)) {}

  // Call this with each change of etcd, in order.
  void Hear(const storage::etcd::WatchEvent& event, TimeUs now);
  void See(const Statement& statement, TimeUs now);
  // etcd was restored from a backup: from now on, nothing is judged.
  void Restore() { is_restored_ = true; }

  const std::optional<std::string>& violation() const { return violation_; }

 private:
  struct Led {
    std::string leader;
    TimeUs since = 0;
  };

  void HearBeat(std::uint32_t partition, const std::string& value, TimeUs now);
  void CheckLeader(const Statement& statement, TimeUs now);
  void CheckNodes(const command::FleetReport& report, TimeUs now);
  void Fail(const command::FleetReport& report, const std::string& text);

  const std::string prefix_;
  std::map<std::uint32_t, Led> led_;               // the newest leader of each partition
  std::map<std::string, TimeUs> says_that_leads_;  // since when the record of each node says so
  bool is_restored_ = false;
  std::optional<std::string> violation_;
};

}  // namespace fairlock::fleet
