// The judge of how nodes are assigned to partitions. It reads what etcd stores.
//
// 1. A node that may choose takes a partition that had no more nodes in the records than any other
//    one, at some moment since the claim before it. So as long as one partition has no node, no
//    other partition gets two.
// 2. In the end, the record of each node that runs names the partition that it serves, and a node
//    that is gone has no record.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/etcd/requests.h"

namespace fairlock::fleet {

// In a fleet of one partition, there is nothing to judge.
class AssignmentJudge {
 public:
  AssignmentJudge(std::string prefix, std::uint32_t partitions)
      : prefix_(std::move(prefix)), partitions_(partitions) {}

  // Call this before that run begins. `is_free` means that it may choose its partition.
  void Begin(const std::string& run, bool is_free) { is_free_[run] = is_free; }
  // Call this with each change of etcd, in order.
  void Hear(const storage::etcd::WatchEvent& event);
  // etcd was restored from a backup, so claims may be missing. From now on, promise 1 is not
  // judged. `kept` has all keys of the fleet.
  void Restore(const std::vector<storage::etcd::KeyValue>& kept);
  // Call these in the end: `partition` is what the node serves.
  void SeeRunning(const std::string& node, std::uint32_t partition);
  void SeeGone(const std::string& node);

  const std::optional<std::string>& violation() const { return violation_; }

 private:
  using Records = std::map<std::string, std::uint32_t>;  // the partition of each node

  void Put(const std::string& node, const std::string& value, bool is_claim);
  void CheckClaim(const std::string& node, std::uint32_t partition);
  void Fail(std::string text);

  const std::string prefix_;
  const std::uint32_t partitions_;
  std::map<std::string, bool> is_free_;  // whether each run may choose its partition
  std::int64_t claimed_at_ = 0;          // the revision of the newest claim
  Records records_;
  std::vector<Records> since_claim_ = {{}};  // what the records were since the newest claim
  bool is_restored_ = false;
  std::optional<std::string> violation_;
};

}  // namespace fairlock::fleet
