// Writes to the replicated log, each guarded by the beat: what is sent to etcd, and what an answer
// means. It sends nothing itself, so that the simulator can drive it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/etcd/requests.h"
#include "storage/replicated/beat.h"

namespace fairlock::storage::replicated {

// The keys of one partition: PREFIX is "/fairlock/NAME/p/NN/".
struct PartitionKeys {
  explicit PartitionKeys(std::string prefix);

  std::string FrameKey(std::uint64_t number) const;
  // The number in such a key; 0: it is not one.
  std::uint64_t FrameNumber(std::string_view key) const;

  std::string prefix;
  std::string beat;
  std::string heading;
  std::string frames;  // the prefix of all frames
};

// What a transaction writes beside the beat.
struct GuardedWrite {
  std::vector<std::string> frames = {};  // at most one, except in tests
  std::string heading = {};              // replaces the heading of the snapshot; empty: stays
  std::uint64_t first_frame = 0;         // with a heading: the frames before it are deleted
  Beat::State state = Beat::State::kLeading;
  std::string successor = {};  // with kHandedOver
};

// A run of a process that leads, or that takes over. Exactly one write is in progress at a time.
//
// The guard is the pair of the beat's MOD revision and value, both from this run's own last write.
// The revision alone identifies the write within one etcd cluster; the value also protects against
// a cluster that was restored from a backup, where revisions are used again.
//
// Not thread-safe.
class FrameWriter {
 public:
  enum class Progress : std::uint8_t {
    kCommitted,
    kRepeat,   // the outcome is unknown, or nothing was executed: send the same transaction again
    kDeposed,  // another run leads; nothing was written, and nothing will be
    kFailed    // repeating it does not help: the answer's message says why
  };

  // Take-over of the beat that this process last saw, as run `run` of the node `leader`, which
  // others reach at `address` and, with TLS, at `tls_port` of the same host. Until it is committed
  // only TakeOver and Take may be called.
  FrameWriter(PartitionKeys keys, RunId run, std::string leader, std::string address = {},
              std::uint16_t tls_port = 0);

  // The epoch becomes the next one after that of `seen`, and after `epoch_floor`.
  const etcd::Txn& TakeOver(const SeenBeat& seen, std::uint64_t epoch_floor = 0);
  // REQUIRES: the last write is committed.
  const etcd::Txn& Write(const GuardedWrite& write);
  // The answer to the transaction in progress.
  Progress Take(const etcd::TxnAnswer& answer);

  // The transaction in progress.
  const etcd::Txn& txn() const { return txn_; }
  bool is_in_progress() const { return is_in_progress_; }
  // The last committed write of this run.
  const SeenBeat& committed() const { return committed_; }
  // After kDeposed: the beat that stands in the way; it does not exist if someone deleted the key.
  const SeenBeat& other() const { return other_; }
  const PartitionKeys& keys() const { return keys_; }

 private:
  const etcd::Txn& Start(const SeenBeat& guard);

  const PartitionKeys keys_;
  const RunId run_;
  const std::string leader_;
  const std::string address_;
  const std::uint16_t tls_port_;
  etcd::Txn txn_;
  SeenBeat next_;  // what the transaction in progress writes; its revision is not known yet
  SeenBeat committed_;
  SeenBeat other_;
  bool is_in_progress_ = false;
};

}  // namespace fairlock::storage::replicated
