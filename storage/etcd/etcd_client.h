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

// Blocks the calling thread during a call, and has no thread of its own. Not thread-safe, but
// several clients may work at the same time.
//
// A call asks the current endpoint. If that does not accept the request, or does not answer a read,
// the next endpoint becomes the current one. A call tries each endpoint at most once and then
// returns, so a caller that repeats calls must pause between them. A write whose outcome is
// kUnknown is never repeated; only its caller can find out whether it was executed.
//
// `timeout` limits a call including all its attempts; EtcdOptions::attempt_timeout limits each
// attempt.
class EtcdClient {
 public:
  using Timeout = std::chrono::milliseconds;

  // Connects only when the first call needs it. Fails if the options contradict each other or a
  // file cannot be read.
  static Result<std::unique_ptr<EtcdClient>> Open(const EtcdOptions& options);

  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;
  ~EtcdClient();

  TxnAnswer Transact(const Txn& txn, Timeout timeout);

  // The outcome is never kUnknown: that of an unanswered read is kUnavailable.
  RangeAnswer Range(const Get& get, Timeout timeout);

  // Discards the history before the revision. kCompacted if that has already been done.
  Answer Compact(std::int64_t revision, Timeout timeout);

  // KeepLeaseAlive renews a lease, RevokeLease ends it. kNoLease if the lease has already ended.
  LeaseAnswer GrantLease(std::chrono::seconds ttl, Timeout timeout);
  LeaseAnswer KeepLeaseAlive(std::int64_t id, Timeout timeout);
  Answer RevokeLease(std::int64_t id, Timeout timeout);

  // The status of the member behind one endpoint, given by its index in the options. Does not
  // change the current endpoint.
  StatusAnswer StatusOf(std::size_t endpoint, Timeout timeout);
  MembersAnswer Members(Timeout timeout);
  AlarmsAnswer Alarms(Timeout timeout);

  // Makes the next endpoint the current one, which the next call asks first.
  void Rotate();
  void set_attempt_timeout(Timeout time);

 private:
  struct Connections;

  explicit EtcdClient(std::unique_ptr<Connections> connections);
  Caller& caller();

  std::unique_ptr<Connections> connections_;
};

}  // namespace fairlock::storage::etcd
