// Keeps a standby warm: loads the log while another node leads, and then follows it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
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
  bool is_following = false;  // false while it loads the log, or if it has lost the watch
  std::uint64_t frames = 0;   // the number of frames known to be written but not applied yet
  DurationMs ms = 0;          // the time since it was last in sync; 0 if it is in sync
  std::string unreadable;     // why this version cannot read the log; empty if it can

  friend bool operator==(const StandbyLag&, const StandbyLag&) = default;
};

struct LogTailOptions {
  etcd::EtcdOptions etcd;
  std::chrono::milliseconds call_timeout{1'000};
  std::chrono::milliseconds pause_min{100};  // the pause after a failure; doubles up to pause_max
  std::chrono::milliseconds pause_max{2'000};
  std::function<TimeMs()> now_ms;  // thread-safe
  // The thread of the watch calls this with each beat.
  std::function<void(const SeenBeat&)> on_beat = [](const SeenBeat&) {};
};

// Reads the heading and the frames at one revision, then applies the changes after that revision as
// a watch reports them. It reads again at a newer revision if the watch was interrupted or cannot
// continue, or if a frame or a heading does not continue what it has. It then reads only what is
// missing if what it has is still part of the log, and otherwise everything.
//
// A loading thread and the thread of the watch use the copy in turn. Nothing is queued between them
// and etcd: the watch waits until its changes have been applied.
class LogTail {
 public:
  // `keys` must outlive the tail.
  LogTail(std::unique_ptr<etcd::EtcdClient> client, const PartitionKeys& keys,
          LogTailOptions options);
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;
  ~LogTail() { Stop(); }

  // Starts the threads. The loading thread or Finish calls `new_sink`. Call this only once.
  void Begin(NewSink new_sink);
  // Ends the threads, but keeps what they have read. Waits for a call to etcd that is in progress.
  void Stop();

  // Call this after Stop. Reads the rest of the log at this revision, or at that of a newer write
  // of the same leader if the history before it was discarded. `newest_write`, which returns the
  // revision of that write, is called repeatedly, and its failure ends the reading. Calls to etcd
  // are repeated until they succeed, or until Abandon.
  Result<LogEnd> Finish(const PinnedLog& log,
                        const std::function<Result<std::int64_t>()>& newest_write);
  FrameGroups TakeGroups() { return copy_->TakeGroups(); }

  // These may be called by any thread:

  void Abandon() { is_abandoned_ = true; }
  StandbyLag lag() const;
  // The first frame that it does not have.
  std::uint64_t next_frame() const;
  // How many times it has started to read the whole log.
  std::uint64_t loads() const;

 private:
  void Run();
  // Reads the log, and returns the revision at which it was read.
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
  void NoteUnreadable(const Status& status);
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
    // Whether a stream has begun since Follow was called, and how often none could begin, or one
    // ended.
    bool has_begun = false;
    std::size_t losses = 0;
    std::uint64_t newest_end = 1;  // the end of the log according to the newest beat
    std::uint64_t next_frame = 0;
    std::uint64_t loads = 0;
    TimeMs in_sync_at = 0;
    std::string unreadable;  // as in StandbyLag
  } state_;                  // guarded by the mutex
};

}  // namespace fairlock::storage::replicated
