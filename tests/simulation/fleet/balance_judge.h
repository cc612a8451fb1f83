// The judge of the hand-overs by which leaders are spread over the machines. It reads what etcd
// stores.
//
// 1. A leader that changes the key `claims` to hand over had the right to: at some moment shortly
//    before, according to the records, every partition had a leader, all of which had led for the
//    required time, no node was loading, and the machine of the leader led at least two partitions
//    more than the machine of the successor, a standby of the same partition that was ready (see
//    SuccessionJudge). So each hand-over brings the fleet closer to a balance, and they end.
// 2. The key `claims` had not changed for the required time. So there is one hand-over at a time.
// 3. A leader that hands over for the balance names the node of its claim.
// 4. When a leader has named a successor and nothing is broken, a node leads the partition again
//    within a second, and the leader itself has stopped leading before that.
// 5. In the end, if nothing has changed for long enough, no hand-over is due.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
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

struct BalanceJudgeOptions {
  std::string prefix;
  std::uint32_t partitions = 1;
  TimeUs balance_after = 0;
  // Whether the node leads the partition at this moment, according to its process.
  std::function<bool(const std::string& node, std::uint32_t partition)> leads;
  // Whether the node hands over for the balance, according to its process.
  std::function<bool(const std::string& node)> balances;
};

class BalanceJudge {
 public:
  explicit BalanceJudge(BalanceJudgeOptions options) : options_(std::move(options)) {}

  // Call this with each change of etcd, in order.
  void Hear(const storage::etcd::WatchEvent& event, TimeUs now);
  // etcd was restored from a backup: from now on, only the promise about two leaders is judged.
  void Restore() { is_restored_ = true; }
  // Call this when the faults are over.
  void Heal(TimeUs now) { healed_at_ = now; }
  // Call this in the end.
  void Finish(TimeUs now);

  std::uint64_t hand_overs() const { return hand_overs_; }
  const std::optional<std::string>& violation() const { return violation_; }

 private:
  using Records = std::map<std::string, storage::replicated::NodeRecord>;  // the records by node
  struct Moment {
    TimeUs since = 0;
    Records records;
  };
  struct Led {
    storage::replicated::Beat beat;
    TimeUs since = 0;
  };

  void HearRecord(const storage::etcd::WatchEvent& event, const std::string& node, TimeUs now);
  void HearClaim(const std::string& value, TimeUs now);
  void HearBeat(std::uint32_t partition, const std::string& value, TimeUs now);
  void CheckNamedSuccessor(const storage::replicated::Beat& beat);
  bool MayHandOver(const Records& records, const std::string& leader, const std::string& successor,
                   TimeUs before) const;
  bool IsCalm(const Records& records, TimeUs before) const;
  void Fail(std::string text);

  const BalanceJudgeOptions options_;
  // The newest moments, up to kStale before now.
  std::deque<Moment> moments_ = {{}};
  // When a node was first seen to lead with that epoch.
  std::map<std::pair<std::string, std::uint64_t>, TimeUs> led_since_;
  std::map<std::uint32_t, Led> led_;                          // the leaders by partition
  std::optional<std::pair<std::string, std::string>> claim_;  // the leader and its successor
  TimeUs claimed_at_ = 0;  // when a node that joins, or a leader, last changed the key
  TimeUs changed_at_ = 0;  // when a record or a claim changed
  TimeUs healed_at_ = -1;
  bool is_restored_ = false;
  std::uint64_t hand_overs_ = 0;
  std::optional<std::string> violation_;
};

}  // namespace fairlock::fleet
