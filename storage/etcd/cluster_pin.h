// Which etcd cluster a process uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace fairlock::storage::etcd {

// Two etcd clusters in one list of endpoints would be two registers for one fleet. So the first
// cluster that answers is pinned, and endpoints that belong to another one are refused. Only when
// all endpoints belong to one other cluster has etcd been replaced, for example restored from a
// backup; then that cluster is pinned.
//
// Shared by the clients of a process. Thread-safe.
class ClusterPin {
 public:
  // 0 if nothing is pinned yet.
  explicit ClusterPin(std::uint64_t id = 0) : id_(id) {}

  // Notes to which cluster an endpoint, one of `endpoints`, was found to belong. Returns why it
  // must not be used; empty if it may be.
  std::string Admit(const std::string& endpoint, std::size_t endpoints, std::uint64_t cluster_id);

  // Whether the endpoint was last found to belong to another cluster than the pinned one.
  bool Refuses(const std::string& endpoint) const;
  // The id of the pinned cluster; 0 if there is none.
  std::uint64_t id() const;
  // Whether another cluster was pinned before.
  bool was_replaced() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t id_;
  bool was_replaced_ = false;
  std::map<std::string, std::uint64_t> seen_;  // the cluster of each endpoint
};

// The id as etcdctl prints it: hexadecimal digits.
std::string ShowClusterId(std::uint64_t id);

}  // namespace fairlock::storage::etcd
