// A model of etcd's key-value store: one thread, no leases.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "storage/etcd/requests.h"

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

  // Returns what a watch of these keys reports from that revision on, in order.
  std::vector<etcd::WatchEvent> Changes(const etcd::Get& target, std::int64_t revision) const;

  std::int64_t revision() const { return store_.revision; }
  std::int64_t compacted() const { return store_.compacted; }
  void Backup() { backup_ = store_; }
  // Undoes everything since the last Backup. The revisions after it are used again.
  void Restore() { store_ = backup_; }

 private:
  struct Version {
    std::int64_t revision = 0;
    std::int64_t create_revision = 0;  // 0: deleted
    std::string value = {};
  };
  using Versions = std::vector<Version>;  // in ascending order of revision
  struct Store {
    std::int64_t revision = 1;
    std::int64_t compacted = 0;
    std::map<std::string, Versions> keys = {};
    std::deque<etcd::WatchEvent> changes = {};  // since the compacted revision
  };

  const Version* Find(const std::string& key, std::int64_t revision) const;
  bool Holds(const etcd::Compare& compare) const;
  bool Execute(const etcd::Operation& operation, std::int64_t revision, etcd::TxnAnswer& answer);
  bool Delete(const etcd::DeleteRange& range, std::int64_t revision);
  void Collect(const etcd::Get& get, std::int64_t revision, etcd::RangeAnswer& answer) const;

  Store store_;
  Store backup_;
};

}  // namespace fairlock::fleet
