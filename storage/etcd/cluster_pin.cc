#include "storage/etcd/cluster_pin.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace fairlock::storage::etcd {

std::string ShowClusterId(std::uint64_t id) {
  std::array<char, 16> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), id, 16);
  return {digits.data(), end};
}

std::string ClusterPin::Admit(const std::string& endpoint, std::size_t endpoints,
                              std::uint64_t cluster_id) {
  const std::lock_guard lock(mutex_);
  seen_[endpoint] = cluster_id;
  if (id_ == 0) id_ = cluster_id;
  if (cluster_id == id_) return "";
  const auto is_there = [&](const auto& seen) { return seen.second == cluster_id; };
  if (seen_.size() == endpoints && std::ranges::all_of(seen_, is_there)) {
    id_ = cluster_id;
    was_replaced_ = true;
    return "";
  }
  return "it belongs to the etcd cluster " + ShowClusterId(cluster_id) +
         ", but this node uses the cluster " + ShowClusterId(id_) +
         "; cluster_etcd must list the members of one cluster";
}

bool ClusterPin::Refuses(const std::string& endpoint) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(endpoint);
  return found != seen_.end() && found->second != id_;
}

std::uint64_t ClusterPin::id() const {
  const std::lock_guard lock(mutex_);
  return id_;
}

bool ClusterPin::was_replaced() const {
  const std::lock_guard lock(mutex_);
  return was_replaced_;
}

}  // namespace fairlock::storage::etcd
