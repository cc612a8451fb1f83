// Stands in for the client of etcd: the same calls, answered by the modelled etcd over the
// simulated network.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "storage/etcd/etcd_options.h"
#include "storage/etcd/requests.h"
#include "storage/status.h"

namespace fairlock::storage::etcd {

// Blocks its fiber during a call.
class EtcdClient {
 public:
  using Timeout = std::chrono::milliseconds;

  static Result<std::unique_ptr<EtcdClient>> Open(const EtcdOptions& options);

  TxnAnswer Transact(const Txn& txn, Timeout timeout);
  RangeAnswer Range(const Get& get, Timeout timeout);
  Answer Compact(std::int64_t revision, Timeout timeout);
};

}  // namespace fairlock::storage::etcd
