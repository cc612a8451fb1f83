// Writes the first log of a partition of a new fleet.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "storage/etcd/etcd_client.h"
#include "storage/log/load_log.h"
#include "storage/replicated/cluster_home.h"
#include "storage/replicated/frame_writer.h"
#include "storage/replicated/replicated_store.h"

namespace fairlock::storage::replicated {

// How long one call may take, and how many attempts a write has.
inline constexpr std::chrono::milliseconds kNewLogCallTimeout{5'000};
inline constexpr int kNewLogAttemptsMax = 20;

// The first write marks the register with the state kImporting, so that nodes refuse the log until
// the register is handed over. Not thread-safe.
class NewLog {
 public:
  // `client` must outlive this object. The register names `node` as its writer.
  NewLog(etcd::EtcdClient& client, PartitionKeys keys, const std::string& node,
         const std::string& address);

  // Begins a log, or replaces one whose import was interrupted. Refused if a node has led, or if
  // there is a heading or a frame without a register, for example because the register was deleted.
  Status Begin();
  // Writes the rows as a snapshot. Call this after Begin, once.
  Status Write(const RowTable& rows);
  // Hands over, so that a node takes over at once. Nothing can be written afterwards.
  Status HandOver() { return store_.HandOver(""); }
  // The writer, whose last write is committed.
  FrameWriter& writer() { return writer_; }

 private:
  Result<SeenBeat> FindStart();

  etcd::EtcdClient& client_;
  FrameWriter writer_;
  ReplicatedStore store_;
};

// Starts the log of a fleet with the rows of another log.
//
// Writes the rows as a snapshot and hands over, so that a node takes over at once. Refused if the
// fleet already has a log. The first write marks the register, and only the last one removes the
// mark: nodes refuse a log whose import was interrupted, and the next import replaces it.
Status ImportLog(const ClusterOptions& options, const RowTable& rows);

}  // namespace fairlock::storage::replicated
