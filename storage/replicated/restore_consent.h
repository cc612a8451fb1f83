// Finds out whether an operator has accepted that etcd was restored from a backup.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "storage/etcd/etcd_client.h"
#include "storage/replicated/frame_writer.h"

namespace fairlock::storage::replicated {

// When an operator asks a node to accept the restore, the node writes to a key the highest epoch
// that it saw before the restore. Nodes that have seen no higher epoch then accept the restore too.
// The next leader uses an epoch above that one, so the key does not apply to a later restore.
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

  // Writes the key if Ask has been called since the last time, then reads it.
  etcd::Answer Exchange(std::uint64_t highest_epoch);
  // The epoch that was read last: an operator has accepted that everything up to this epoch may be
  // lost. 0: nothing was accepted.
  std::uint64_t accepted_epoch() const { return accepted_epoch_; }

 private:
  etcd::EtcdClient& client_;
  const PartitionKeys& keys_;
  const std::chrono::milliseconds timeout_;
  std::uint64_t accepted_epoch_ = 0;
  std::atomic<bool> is_asked_ = false;
};

}  // namespace fairlock::storage::replicated
