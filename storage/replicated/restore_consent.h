// Finds out whether an operator has accepted that etcd was restored from a backup.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "storage/etcd/etcd_client.h"
#include "storage/replicated/frame_writer.h"

namespace fairlock::storage::replicated {

// A node that notices the restore writes to the key `restored` the highest epoch that it saw
// before. So nodes that are started later know of it too.
//
// When an operator asks a node to accept the restore, the node writes to the key `accepted` the
// highest epoch that it saw before the restore. Nodes that have seen no higher epoch, and heard of
// none, then accept the restore too. The next leader uses an epoch above that one, so neither key
// applies to a later restore.
//
// Any thread may call Ask; only the thread that awaits the leadership may call the other functions.
class RestoreConsent {
 public:
  // The references must outlive this.
  RestoreConsent(etcd::EtcdClient& client, const PartitionKeys& keys,
                 std::chrono::milliseconds timeout)
      : client_(client), keys_(keys), timeout_(timeout) {}

  // Call this when an operator accepts the restore on this node.
  void Ask() { is_asked_ = true; }

  // Reads both keys; if Ask has been called since the last time, it writes `accepted` in between.
  etcd::Answer Exchange(std::uint64_t highest_epoch);
  // Writes `restored`, unless it already has this epoch or a higher one. Call this after Exchange.
  etcd::Answer Mark(std::uint64_t highest_epoch);
  // The epoch that was read last: an operator has accepted that everything up to this epoch may be
  // lost. 0 if nothing was accepted.
  std::uint64_t accepted_epoch() const { return accepted_epoch_; }
  // The epoch up to which everything may be lost according to the nodes. 0 if none has noticed a
  // restore.
  std::uint64_t restored_epoch() const { return restored_epoch_; }
  // A take-over must be refused if another node has noticed a restore since Exchange.
  etcd::Compare IsUnchanged() const {
    return {.key = keys_.restored, .revision = restored_revision_};
  }

 private:
  etcd::Answer Read(const std::string& key, std::uint64_t& epoch, std::int64_t& revision);

  etcd::EtcdClient& client_;
  const PartitionKeys& keys_;
  const std::chrono::milliseconds timeout_;
  std::uint64_t accepted_epoch_ = 0;
  std::uint64_t restored_epoch_ = 0;
  std::int64_t restored_revision_ = 0;
  std::atomic<bool> is_asked_ = false;
};

}  // namespace fairlock::storage::replicated
