// Keeps a standby warm: loads the log while another node leads, and follows it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "storage/etcd/etcd_client.h"
#include "storage/etcd/etcd_watch.h"
#include "storage/replicated/beat.h"
#include "storage/replicated/leadership.h"
#include "storage/replicated/log_copy.h"

namespace fairlock::storage::replicated {

// How far a standby is behind the leader.
struct StandbyLag {
  bool is_following = false;  // false: it loads the log, or has lost the watch
  std::uint64_t frames = 0;   // that are known to be written, and not applied
  DurationMs ms = 0;          // since it was last in sync; 0: it is

  friend bool operator==(const StandbyLag&, const StandbyLag&) = default;
};

struct LogTailOptions {
  etcd::EtcdOptions etcd;
  std::chrono::milliseconds call_timeout{1'000};
  std::chrono::milliseconds pause_min{100};  // after a failure; doubles up to pause_max
  std::chrono::milliseconds pause_max{2'000};
  std::function<TimeMs()> now_ms;  // thread-safe
  // Called by the thread of the watch with each beat.
  std::function<void(const SeenBeat&)> on_beat = [](const SeenBeat&) {};
};

// Reads the heading and the frames at one revision, then applies the changes after that revision as
// a watch reports them. When the watch does not continue without a break, when a frame is not the
// next one or when a snapshot has replaced the heading, it reads again at a newer revision: all, or
// only what is missing if what it has is still the beginning of the log.
//
// A loading thread and the thread of the watch take turns with the copy. Nothing is queued between
// them and etcd: the watch waits until its changes are applied.
class LogTail {
 public:
  // `keys` must outlive the tail.
  LogTail(std::unique_ptr<etcd::EtcdClient> client, const PartitionKeys& keys,
          LogTailOptions options);
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;
  ~LogTail() { Stop(); }

  // `new_sink` is called by the loading thread, or by Finish. To be called once.
  void Begin(NewSink new_sink);
  // Ends the threads; what they have read stays. Waits for a call to etcd that is in progress.
  void Stop();

  // After Stop: reads the rest of the log at this revision. `may_continue` is asked again and
  // again, and its failure ends the reading. Calls to etcd are repeated until they succeed, or
  // until Abandon.
  Result<LogEnd> Finish(const PinnedLog& log, const std::function<Status()>& may_continue);
  FrameGroups TakeGroups() { return copy_->TakeGroups(); }

  // These may be called by any thread:

  void Abandon() { is_abandoned_ = true; }
  StandbyLag lag() const;
  // The first frame that it does not have.
  std::uint64_t next_frame() const;
  // How often it began to read the whole log.
  std::uint64_t loads() const;

 private:
  void Run();
  // Returns the revision at which it has read the log.
  Result<std::int64_t> Load();
  Status Follow(std::int64_t revision);
  void TakeEvents(const std::vector<etcd::WatchEvent>& events);
  bool Take(const etcd::WatchEvent& event);
  bool TakeBeat(const etcd::KeyValue& found);
  Result<etcd::RangeAnswer> Read(const etcd::Get& get);
  void CountLag();
  void BeginFollowing(bool continues);
  void LoseFollowing();
  void EndFollowing();
  bool AwaitStop(std::chrono::milliseconds time);

  const std::unique_ptr<etcd::EtcdClient> client_;
  const PartitionKeys& keys_;
  const LogTailOptions options_;
  std::optional<LogCopy> copy_;
  std::thread thread_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_abandoned_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  struct {
    bool has_following_ended = false;
    bool is_following = false;
    bool was_lost = false;         // since Follow was called
    std::uint64_t newest_end = 1;  // of the log, as the newest beat says
    std::uint64_t next_frame = 0;
    std::uint64_t loads = 0;
    TimeMs in_sync_at = 0;
  } state_;  // under the mutex
};

}  // namespace fairlock::storage::replicated
