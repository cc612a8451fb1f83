// A node that waits for the leadership of a partition.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "storage/etcd/etcd_client.h"
#include "storage/replicated/frame_writer.h"
#include "storage/replicated/leadership.h"

namespace fairlock::storage::replicated {

struct StandbyOptions {
  LeadershipOptions leadership;
  std::string canary_key;  // a key of this node alone
  std::chrono::milliseconds look_every{100};
  // The beat is read only when Hear has brought no new one for so long.
  DurationMs trust_ms = 700;
  std::chrono::milliseconds call_timeout{1'000};
  // A clock that counts while the machine is suspended; called by the thread of AwaitLeadership.
  std::function<TimeMs()> now_ms;
};

// Hears beats from a watch, reads the beat again and again while the watch is silent, and takes
// over when the rules of Leadership say so.
class Standby {
 public:
  // All must outlive the standby. `writer` has not taken over.
  Standby(etcd::EtcdClient& client, FrameWriter& writer, StandbyOptions options);

  // Blocks until this node leads. kRefused: Stop was called. kFailed: etcd refuses the requests for
  // good, for example because of permissions.
  Status AwaitLeadership();

  // These may be called by any thread:

  void Stop();
  // A beat that a watch reported. The watch may be late, so an older beat than that seen last has
  // no effect.
  void Hear(const SeenBeat& seen);
  // The beat that was seen last; it does not exist before the first look.
  Beat Seen() const;
  // The last failure to reach etcd; empty: the last call succeeded.
  std::string LastError() const;

 private:
  Status Look();
  bool TakeNews();
  void See(const SeenBeat& seen);
  void AwaitNews();
  Status WriteCanary();
  Status TakeOver();
  Status Judge(const etcd::Answer& answer);

  etcd::EtcdClient& client_;
  FrameWriter& writer_;
  const StandbyOptions options_;
  Leadership leadership_;
  TimeMs news_at_;  // of the last beat that came from Hear
  std::atomic<bool> is_stopped_ = false;
  mutable std::mutex mutex_;
  struct {
    std::condition_variable has_urgent;
    std::optional<SeenBeat> beat;
    bool is_urgent = false;  // the leader has handed over
  } news_;                   // from Hear
  Beat seen_;
  std::string last_error_;
};

}  // namespace fairlock::storage::replicated
