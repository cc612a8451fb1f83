// Builds the writes to the replicated log, each guarded by the beat, and interprets etcd's answers
// to them. It sends nothing itself, so that the simulator can drive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/etcd/requests.h"
#include "storage/replicated/beat.h"

namespace fairlock::storage::replicated {

// The keys of one partition: PREFIX is "/fairlock/NAME/p/NN/".
struct PartitionKeys {
  explicit PartitionKeys(std::string prefix);

  std::string FrameKey(std::uint64_t number) const;
  // The number of the frame with that key; 0 if it is not the key of a frame.
  std::uint64_t FrameNumber(std::string_view key) const;

  std::string prefix;
  std::string beat;
  std::string heading;
  std::string frames;    // the prefix of all frames
  std::string accepted;  // see RestoreConsent
  std::string restored;  // see RestoreConsent
};

// What a transaction writes in addition to the beat.
struct GuardedWrite {
  std::vector<std::string> frames = {};  // at most one, except in tests
  std::string heading = {};  // replaces the heading of the snapshot; empty if it does not change
  std::uint64_t first_frame = 0;  // with a heading, the frames before it are deleted
  bool hands_over = false;
  std::string successor = {};  // with hands_over
};

// The writer of a run that leads or takes over. At most one write is in progress at a time.
//
// The guard compares the beat's MOD revision and value with those of this run's own last write. The
// revision alone identifies the write within one etcd cluster; the value also protects against a
// cluster that was restored from a backup, where revisions are used again.
//
// Not thread-safe.
class FrameWriter {
 public:
  enum class Progress : std::uint8_t {
    kCommitted,
    kRepeat,   // unknown outcome, or nothing was executed: send the same transaction again
    kDeposed,  // another run leads; nothing was written, and nothing will be
    kFailed    // repeating the transaction does not help: the answer's message says why
  };

  // Makes the writer for a take-over by run `run` of the node `leader`, which others reach at
  // `address` and, with TLS, at `tls_port` on the same host. Until the take-over is committed, only
  // TakeOver and Take may be called.
  FrameWriter(PartitionKeys keys, RunId run, std::string leader, std::string address = {},
              std::uint16_t tls_port = 0);

  // Replaces the keys. REQUIRES: nothing has been written, and no other thread reads the keys.
  void UsePartition(PartitionKeys keys) { keys_ = std::move(keys); }
  // The transaction that takes over the beat `seen`. The new epoch is the lowest that is higher
  // than that of `seen` and than `epoch_floor`. The beat keeps this state until the run hands over.
  // `also` is another condition.
  const etcd::Txn& TakeOver(const SeenBeat& seen, std::uint64_t epoch_floor = 0,
                            Beat::State state = Beat::State::kLeading,
                            std::optional<etcd::Compare> also = std::nullopt);
  // REQUIRES: the last write is committed.
  const etcd::Txn& Write(const GuardedWrite& write);
  // Takes the answer to the transaction in progress.
  Progress Take(const etcd::TxnAnswer& answer);

  // The transaction in progress.
  const etcd::Txn& txn() const { return txn_; }
  bool is_in_progress() const { return is_in_progress_; }
  // The last committed write of this run.
  const SeenBeat& committed() const { return committed_; }
  // The beat of the other run, after kDeposed; the key does not exist if someone deleted it.
  const SeenBeat& other() const { return other_; }
  const PartitionKeys& keys() const { return keys_; }

 private:
  const etcd::Txn& Start(const SeenBeat& guard);

  PartitionKeys keys_;
  const RunId run_;
  const std::string leader_;
  const std::string address_;
  const std::uint16_t tls_port_;
  etcd::Txn txn_;
  SeenBeat next_;  // the beat of the transaction in progress; its revision is not known yet
  SeenBeat committed_;
  SeenBeat other_;
  bool is_in_progress_ = false;
};

}  // namespace fairlock::storage::replicated
