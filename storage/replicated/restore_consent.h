// Whether an operator has accepted that etcd was restored from a backup.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "storage/etcd/etcd_client.h"

namespace fairlock::storage::replicated {

// One key has the highest epoch that was seen before the restore, written by the node that the
// operator asked. A node that has seen no higher one accepts it too. The next leader begins above
// that epoch, so the key says nothing about a later restore.
//
// Ask may be called by any thread, everything else by the thread that awaits the leadership.
class RestoreConsent {
 public:
  // `client` must outlive this.
  RestoreConsent(etcd::EtcdClient& client, std::string key, std::chrono::milliseconds timeout)
      : client_(client), key_(std::move(key)), timeout_(timeout) {}

  // An operator accepts the restore at this node.
  void Ask() { is_asked_ = true; }

  // Writes the key if Ask was called since, then reads it.
  etcd::Answer Exchange(std::uint64_t highest_epoch);
  // As it was read last: everything up to this epoch may be lost; 0: nothing was accepted.
  std::uint64_t accepted_epoch() const { return accepted_epoch_; }

 private:
  etcd::EtcdClient& client_;
  const std::string key_;
  const std::chrono::milliseconds timeout_;
  std::uint64_t accepted_epoch_ = 0;
  std::atomic<bool> is_asked_ = false;
};

}  // namespace fairlock::storage::replicated
