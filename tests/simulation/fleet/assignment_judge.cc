#include "tests/simulation/fleet/assignment_judge.h"

#include <algorithm>
#include <cassert>

#include "storage/replicated/node_record.h"

namespace fairlock::fleet {

namespace {

// How many nodes other than `node` the partition has.
std::size_t Count(const std::map<std::string, std::uint32_t>& records, std::uint32_t partition,
                  const std::string& node) {
  return static_cast<std::size_t>(std::ranges::count_if(records, [&](const auto& record) {
    return record.second == partition && record.first != node;
  }));
}

}  // namespace

void AssignmentJudge::Fail(std::string text) {
  if (!violation_) violation_ = std::move(text);
}

void AssignmentJudge::Hear(const storage::etcd::WatchEvent& event) {
  if (!event.kv.key.starts_with(prefix_)) return;
  const std::string key = event.kv.key.substr(prefix_.size());
  if (key == "claims") claimed_at_ = event.kv.mod_revision;
  if (!key.starts_with("n/")) return;
  const std::string node = key.substr(2);
  if (event.kind == storage::etcd::WatchEvent::Kind::kPut) {
    return Put(node, event.kv.value, event.kv.mod_revision == claimed_at_);
  }
  records_.erase(node);
  since_claim_.push_back(records_);
}

void AssignmentJudge::Put(const std::string& node, const std::string& value, bool is_claim) {
  const auto record = storage::replicated::DecodeNode(node, value);
  assert(record.ok());
  const auto free = is_free_.find(record->run);
  assert(free != is_free_.end());
  if (is_claim && free->second && !is_restored_) CheckClaim(node, record->partition);
  if (is_claim) since_claim_.clear();
  const auto [at, is_new] = records_.try_emplace(node, record->partition);
  const bool is_other = std::exchange(at->second, record->partition) != record->partition;
  if (is_claim || is_new || is_other) since_claim_.push_back(records_);
}

// The node read the records at some moment after the claim before its own: otherwise, its claim
// would have been refused.
void AssignmentJudge::CheckClaim(const std::string& node, std::uint32_t partition) {
  for (std::uint32_t other = 0; other < partitions_; ++other) {
    std::size_t least = since_claim_.size() + records_.size();
    std::size_t most = 0;
    for (const Records& records : since_claim_) {
      least = std::min(least, Count(records, partition, node));
      most = std::max(most, Count(records, other, node));
    }
    if (least <= most) continue;
    Fail(node + " has taken partition " + std::to_string(partition) + ", which had at least " +
         std::to_string(least) + " nodes since the claim before, but partition " +
         std::to_string(other) + " had at most " + std::to_string(most));
  }
}

void AssignmentJudge::Restore(const std::vector<storage::etcd::KeyValue>& kept) {
  is_restored_ = true;
  records_.clear();
  for (const storage::etcd::KeyValue& one : kept) {
    if (!one.key.starts_with(prefix_ + "n/")) continue;
    const std::string node = one.key.substr(prefix_.size() + 2);
    records_[node] = storage::replicated::DecodeNode(node, one.value)->partition;
  }
}

void AssignmentJudge::SeeRunning(const std::string& node, std::uint32_t partition) {
  const auto record = records_.find(node);
  if (record == records_.end()) return Fail(node + " has no record");
  if (record->second == partition) return;
  Fail(node + " serves partition " + std::to_string(partition) + ", but its record says " +
       std::to_string(record->second));
}

void AssignmentJudge::SeeGone(const std::string& node) {
  if (records_.contains(node)) Fail(node + " is gone, but its record is not");
}

}  // namespace fairlock::fleet
