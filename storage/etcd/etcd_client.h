// A client of etcd's v3 API: transactions, reads, leases and the state of the cluster.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "storage/etcd/etcd_options.h"
#include "storage/etcd/requests.h"
#include "storage/status.h"

namespace fairlock::storage::etcd {

class Caller;

// Blocks its thread during a call, and has no thread of its own. Not thread-safe; several clients
// may work at once.
//
// A call asks the current endpoint. An endpoint that does not accept the request is left for the
// next one; so is one that does not answer a read. A call tries each endpoint at most once and then
// returns, so a caller that repeats calls must pause between them. A write whose outcome is
// kUnknown is never repeated; only its caller can find out what became of it.
//
// `timeout` bounds a call over all its attempts, EtcdOptions::attempt_timeout each single one.
class EtcdClient {
 public:
  using Timeout = std::chrono::milliseconds;

  // Connects when the first call needs it. Fails if the options do not fit together or a file
  // cannot be read.
  static Result<std::unique_ptr<EtcdClient>> Open(const EtcdOptions& options);

  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;
  ~EtcdClient();

  TxnAnswer Transact(const Txn& txn, Timeout timeout);

  // Never kUnknown: an unanswered read is kUnavailable.
  RangeAnswer Range(const Get& get, Timeout timeout);

  // Discards the history below the revision. kCompacted: that was done before.
  Answer Compact(std::int64_t revision, Timeout timeout);

  // kDone, or kNoLease when it is too late.
  LeaseAnswer GrantLease(std::chrono::seconds ttl, Timeout timeout);
  LeaseAnswer KeepLeaseAlive(std::int64_t id, Timeout timeout);
  Answer RevokeLease(std::int64_t id, Timeout timeout);

  // Of the member behind one endpoint, by its place in the options. It does not change which
  // endpoint is the current one.
  StatusAnswer StatusOf(std::size_t endpoint, Timeout timeout);
  MembersAnswer Members(Timeout timeout);
  AlarmsAnswer Alarms(Timeout timeout);

  // The next call asks the next endpoint.
  void Rotate();
  void set_attempt_timeout(Timeout time);

 private:
  struct Connections;

  explicit EtcdClient(std::unique_ptr<Connections> connections);
  Caller& caller();

  std::unique_ptr<Connections> connections_;
};

}  // namespace fairlock::storage::etcd
