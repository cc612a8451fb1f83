// A model of etcd's key-value store and its leases: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "storage/etcd/requests.h"
#include "tests/simulation/fleet/virtual_time.h"

namespace fairlock::fleet {

namespace etcd = storage::etcd;

// Executes each call at one revision, as etcd's state machine does.
class EtcdModel {
 public:
  // Advances to this revision, as if other users of the same etcd had written.
  explicit EtcdModel(std::int64_t revision) : store_{.revision = revision} {}

  etcd::TxnAnswer Transact(const etcd::Txn& txn);
  etcd::RangeAnswer Range(const etcd::Get& get) const;
  etcd::Answer Compact(std::int64_t revision);

  etcd::LeaseAnswer GrantLease(TimeUs ttl);
  etcd::LeaseAnswer KeepLeaseAlive(std::int64_t id);
  // Deletes the keys of the lease. kNoLease if the lease has already ended.
  etcd::Answer RevokeLease(std::int64_t id);
  // Does what a new leader of etcd does: each lease has at least its whole length left at that
  // time.
  void ExtendLeases(TimeUs from);
  // Returns leases whose time has run out. They do not end before they are revoked.
  std::vector<std::int64_t> ExpiredLeases() const;
  bool has_leases() const { return !store_.leases.empty(); }

  // Calls `hear` with every change, in order.
  void Report(std::function<void(const etcd::WatchEvent& event)> hear) { hear_ = std::move(hear); }

  // Returns what a watch of these keys reports from that revision on, in order.
  std::vector<etcd::WatchEvent> Changes(const etcd::Get& target, std::int64_t revision) const;

  std::int64_t revision() const { return store_.revision; }
  std::int64_t compacted() const { return store_.compacted; }
  void Backup() { backup_ = store_; }
  // Undoes everything since the last Backup. The revisions after it are used again. The leases
  // begin anew.
  void Restore();

 private:
  struct Version {
    std::int64_t revision = 0;
    std::int64_t create_revision = 0;  // 0 if deleted
    std::string value = {};
    std::int64_t lease = 0;  // 0 if there is none
  };
  struct Lease {
    TimeUs ttl = 0;
    TimeUs until = 0;
  };
  using Versions = std::vector<Version>;  // in ascending order of revision
  struct Store {
    std::int64_t revision = 1;
    std::int64_t compacted = 0;
    std::map<std::string, Versions> keys = {};
    std::deque<etcd::WatchEvent> changes = {};  // all changes since the compacted revision
    std::map<std::int64_t, Lease> leases = {};  // the leases by id
  };

  const Version* Find(const std::string& key, std::int64_t revision) const;
  bool Holds(const etcd::Compare& compare) const;
  bool LacksLease(const etcd::Operation& operation) const;
  bool Execute(const etcd::Operation& operation, std::int64_t revision, etcd::TxnAnswer& answer);
  bool Delete(const etcd::DeleteRange& range, std::int64_t revision);
  void Collect(const etcd::Get& get, std::int64_t revision, etcd::RangeAnswer& answer) const;

  void Add(etcd::WatchEvent change);

  Store store_;
  Store backup_;
  std::int64_t leases_granted_ = 0;  // a restored etcd does not use their ids again
  std::function<void(const etcd::WatchEvent& event)> hear_ = nullptr;
};

}  // namespace fairlock::fleet
