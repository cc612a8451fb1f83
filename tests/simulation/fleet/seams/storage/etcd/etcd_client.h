// Replaces the client of etcd. It has the same calls, and the modelled etcd answers them over the
// simulated network.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "storage/etcd/etcd_options.h"
#include "storage/etcd/requests.h"
#include "storage/status.h"

namespace fairlock::storage::etcd {

// A call blocks its fiber.
class EtcdClient {
 public:
  using Timeout = std::chrono::milliseconds;

  static Result<std::unique_ptr<EtcdClient>> Open(const EtcdOptions& options);

  TxnAnswer Transact(const Txn& txn, Timeout timeout);
  RangeAnswer Range(const Get& get, Timeout timeout);
  Answer Compact(std::int64_t revision, Timeout timeout);
  LeaseAnswer GrantLease(std::chrono::seconds ttl, Timeout timeout);
  LeaseAnswer KeepLeaseAlive(std::int64_t id, Timeout timeout);
  Answer RevokeLease(std::int64_t id, Timeout timeout);
  StatusAnswer StatusOf(std::size_t endpoint, Timeout timeout);
  AlarmsAnswer Alarms(Timeout timeout);
};

}  // namespace fairlock::storage::etcd
