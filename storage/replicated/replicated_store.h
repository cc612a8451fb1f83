// The log of one partition in etcd, as the store of its leader's journal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <string>

#include "storage/etcd/etcd_client.h"
#include "storage/log/store.h"
#include "storage/replicated/frame.h"
#include "storage/replicated/frame_writer.h"

namespace fairlock::storage::replicated {

struct ReplicatedStoreOptions {
  std::size_t frame_bytes_max = kFrameBytesMax;
  // How long one call may take over all endpoints, and the pause before the next.
  std::chrono::milliseconds call_timeout{2'000};
  std::chrono::milliseconds pause{50};
  // History is discarded after this many revisions of etcd, and after each snapshot; 0: never.
  std::int64_t compact_every = 20'000;
  std::int64_t frames_per_read = 16;
};

// Every append is one or more transactions of etcd, each guarded by the beat. An append of no
// records writes the beat alone: it confirms that this process still led when the append began.
//
// A transaction whose outcome is unknown is repeated until it is known, or until
// LimitAttempts ends that. kDeposed means that another run has taken over, or that the store gave
// up.
//
// Threads: as Store says; LimitAttempts and LastError may be called by any thread.
class ReplicatedStore final : public Store {
 public:
  // `writer` has taken over. Both must outlive the store.
  ReplicatedStore(etcd::EtcdClient& client, FrameWriter& writer,
                  const ReplicatedStoreOptions& options);

  // Whether the log was begun before the take-over.
  Result<bool> HasHeading();

  // Reads the log as it was at the take-over. Meanwhile it writes beats and discards no history. A
  // log that does not exist yet has no records.
  Status Load(RecordSink& sink) override;
  // Durable in etcd whatever `durability` says.
  Status Append(std::span<const StoredRecord> records, Durability durability) override;
  Status Replace(const StoredRecord& heading, std::uint64_t first_batch) override;
  Status Sync() override { return {}; }

  // Hands leadership over: this is the last write. `successor` may be empty.
  Status HandOver(const std::string& successor);

  // From now on a call fails after this many attempts that did not succeed; 0: after the one in
  // progress.
  void LimitAttempts(int count) { attempts_left_ = count; }
  // Why the transaction in progress is not committed yet; empty: no attempt has failed.
  std::string LastError() const;

 private:
  // What a group of frames contains, for finding the first frame that a snapshot needs.
  struct Group {
    std::uint64_t first_frame = 0;
    std::uint64_t newest_batch = 0;      // of this group and all before it
    std::uint64_t slice_generation = 0;  // of the newest slice in it; 0: none
  };
  class Loading;
  static constexpr int kUnlimited = std::numeric_limits<int>::max();

  Status Commit(const GuardedWrite& write);
  Status Pause(const std::string& error);
  Result<etcd::RangeAnswer> Read(const etcd::Get& get);
  void RememberGroup(std::uint64_t first_frame, std::span<const StoredRecord> records);
  std::uint64_t FirstFrameOf(std::uint64_t generation, std::uint64_t first_batch);
  void CompactAt(std::int64_t revision);

  etcd::EtcdClient& client_;
  FrameWriter& writer_;
  const ReplicatedStoreOptions options_;
  std::deque<Group> groups_;  // since the first frame of the newest snapshot
  std::string group_;         // reused
  std::int64_t compacted_revision_ = 0;
  bool is_loading_ = false;  // reads an old revision, which must not be discarded
  std::atomic<int> attempts_left_ = kUnlimited;
  mutable std::mutex mutex_;
  std::string last_error_;
};

}  // namespace fairlock::storage::replicated
