// The log of one partition in etcd, as the store for the journal of its leader.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

#include "storage/etcd/etcd_client.h"
#include "storage/log/store.h"
#include "storage/replicated/frame.h"
#include "storage/replicated/frame_writer.h"
#include "storage/replicated/log_reading.h"
#include "storage/status.h"

namespace fairlock::storage::replicated {

struct ReplicatedStoreOptions {
  std::size_t frame_bytes_max = kFrameBytesMax;
  // The most bytes of one append; readers refuse a longer group.
  std::size_t group_bytes_max = kGroupBytesMax;
  // How long one call may take, including all endpoints, and the pause before the next call.
  std::chrono::milliseconds call_timeout{2'000};
  std::chrono::milliseconds pause{50};
  // etcd's history is discarded every time this many revisions have been added, and after each
  // snapshot; 0 means never.
  std::int64_t compact_every = 20'000;
  std::int64_t frames_per_read = 16;
};

// Writes the beats of a leader that is still loading the locks.
//
// Beats at a fixed interval on a thread of its own, until End or the first failure. It gives up
// after kBeatsMax beats, so that a leader whose loop hangs while restoring the locks is deposed.
class LoadingBeats {
 public:
  static constexpr int kBeatsMax = 1'200;

  LoadingBeats() = default;
  LoadingBeats(const LoadingBeats&) = delete;
  LoadingBeats& operator=(const LoadingBeats&) = delete;
  ~LoadingBeats() { static_cast<void>(End()); }

  // The thread calls `beat`. REQUIRES: Begin was not called before.
  void Begin(std::function<Status()> beat, std::chrono::milliseconds every);
  // Ends the beats. Waits for one that is being written. Returns the failure, if any.
  Status End();
  // The failure that ended the beats; ok: none has failed. Thread-safe.
  Status failure() const;

 private:
  void Run(const std::function<Status()>& beat, std::chrono::milliseconds every);

  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  Status failure_;
};

// Every append is one or more transactions of etcd, each guarded by the beat. An append without
// records writes only the beat, which confirms that this process still led when the append began.
//
// A transaction whose outcome is unknown is repeated until the outcome is known, or until the limit
// set by LimitAttempts is reached. kDeposed means that another run has taken over, or that the
// store gave up.
//
// The thread rules of Store apply; any thread may call LimitAttempts and LastError.
class ReplicatedStore final : public Store {
 public:
  // REQUIRES: `writer` has taken over. Both must outlive the store.
  ReplicatedStore(etcd::EtcdClient& client, FrameWriter& writer,
                  const ReplicatedStoreOptions& options);

  // Whether the log had been started before the take-over.
  Result<bool> HasHeading();

  // Reads the log as it was at the take-over. While doing so, it writes beats and discards no
  // history. A log that does not exist yet has no records.
  Status Load(RecordSink& sink) override;
  // The records are durable in etcd, regardless of `durability`.
  Status Append(std::span<const StoredRecord> records, Durability durability) override;
  Status Replace(const StoredRecord& heading, std::uint64_t first_batch) override;
  Status Sync() override { return {}; }

  // Call this instead of Load if the log was read elsewhere, up to the take-over.
  void SetGroups(FrameGroups groups) { groups_ = std::move(groups); }

  // Writes beats on a separate thread until the next Append, Replace or HandOver, or until
  // EndBeats. Nothing else may write during that time.
  void BeginBeats(std::chrono::milliseconds every);
  // The revision of the newest committed write, or the failure that ended the beats. Thread-safe.
  Result<std::int64_t> newest_write() const;
  void EndBeats() { static_cast<void>(beats_.End()); }

  // Hands leadership over: this is the last write. `successor` may be empty.
  Status HandOver(const std::string& successor);

  // From now on, calls fail after this many failed attempts; 0 means after the attempt in progress.
  void LimitAttempts(int count) { attempts_left_ = count; }
  // The total size of all frames that were committed. Thread-safe.
  std::uint64_t committed_bytes() const { return committed_.bytes; }
  // The reason why the transaction in progress is not committed yet; empty if no attempt has
  // failed.
  std::string LastError() const;

 private:
  static constexpr int kUnlimited = std::numeric_limits<int>::max();

  Status Commit(const GuardedWrite& write);
  Status Pause(const std::string& error);
  Result<etcd::RangeAnswer> Read(etcd::Get get);
  void CompactIfDue();
  void CompactAt(std::int64_t revision);

  etcd::EtcdClient& client_;
  FrameWriter& writer_;
  const ReplicatedStoreOptions options_;
  FrameGroups groups_;
  std::string group_;  // reused by each append, to save allocations
  std::int64_t compacted_revision_ = 0;
  struct {
    std::atomic<std::int64_t> revision = 0;
    std::atomic<std::uint64_t> bytes = 0;  // the total size of all frames
  } committed_;
  std::atomic<int> attempts_left_ = kUnlimited;
  mutable std::mutex mutex_;
  std::string last_error_;
  LoadingBeats beats_;  // the last member, because its thread uses the others
};

}  // namespace fairlock::storage::replicated
