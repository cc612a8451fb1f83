// Replaces the client of etcd. It has the same calls, and the modelled etcd answers them over the
// simulated network.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "storage/etcd/etcd_options.h"
#include "storage/etcd/requests.h"
#include "storage/status.h"

namespace fairlock::fleet {
class EtcdModel;
}  // namespace fairlock::fleet

namespace fairlock::storage::etcd {

// A call blocks its fiber.
class EtcdClient {
 public:
  using Timeout = std::chrono::milliseconds;

  static Result<std::unique_ptr<EtcdClient>> Open(const EtcdOptions& options);
  explicit EtcdClient(EtcdOptions options) : options_(std::move(options)) {}

  TxnAnswer Transact(const Txn& txn, Timeout timeout);
  RangeAnswer Range(const Get& get, Timeout timeout);
  Answer Compact(std::int64_t revision, Timeout timeout);
  LeaseAnswer GrantLease(std::chrono::seconds ttl, Timeout timeout);
  LeaseAnswer KeepLeaseAlive(std::int64_t id, Timeout timeout);
  Answer RevokeLease(std::int64_t id, Timeout timeout);
  StatusAnswer StatusOf(std::size_t endpoint, Timeout timeout);
  AlarmsAnswer Alarms(Timeout timeout);

 private:
  template <typename A>
  A Call(std::function<A(fleet::EtcdModel&)> execute, Timeout timeout, Outcome otherwise);
  // Turns to an endpoint that may be used.
  void Connect();
  void Rotate() { endpoint_ = (endpoint_ + 1) % options_.endpoints.size(); }

  const EtcdOptions options_;
  std::size_t endpoint_ = 0;  // the one that the next call asks
};

}  // namespace fairlock::storage::etcd
