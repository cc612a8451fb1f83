// A node that waits for the leadership of a partition.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "storage/etcd/etcd_client.h"
#include "storage/replicated/frame_writer.h"
#include "storage/replicated/leadership.h"

namespace fairlock::storage::replicated {

// What a standby knows about the leader.
struct LeaderView {
  Beat beat;                  // the one that was seen last; epoch 0: none
  bool is_silent = false;     // no new beat for StandbyOptions::silent_ms, although etcd answers
  bool is_this_node = false;  // this standby has taken over

  friend bool operator==(const LeaderView&, const LeaderView&) = default;
};

struct StandbyOptions {
  LeadershipOptions leadership;
  std::string canary_key;  // a key of this node alone
  std::chrono::milliseconds look_every{100};
  std::chrono::milliseconds call_timeout{1'000};
  // Longer than the time between two beats of an idle leader. Only then does LeaderRefused count:
  // a leader that stops closes its port before its last writes.
  DurationMs silent_ms = 700;
  // A clock that counts while the machine is suspended; called by the thread of AwaitLeadership.
  std::function<TimeMs()> now_ms;
  // Called by that thread when another run leads or hands over, and when the leader becomes silent
  // or is heard again. Null: nobody wants to know.
  std::function<void(const LeaderView&)> on_leader;
};

// Reads the beat again and again, and takes over when the rules of Leadership say so.
class Standby {
 public:
  // All must outlive the standby. `writer` has not taken over.
  Standby(etcd::EtcdClient& client, FrameWriter& writer, StandbyOptions options);

  // Blocks until this node leads. kRefused: Stop was called. kFailed: etcd refuses the requests for
  // good, for example because of permissions.
  Status AwaitLeadership();

  // These may be called by any thread:

  void Stop() { is_stopped_ = true; }
  // The port of this run of a leader refused a connection: its process is gone.
  void LeaderRefused(const RunId& run);
  // The last failure to reach etcd; empty: the last call succeeded.
  std::string LastError() const;

 private:
  Status Look();
  Status WriteCanary();
  Status TakeOver();
  Status Judge(const etcd::Answer& answer);
  void JudgeSilence(const SeenBeat& seen);
  void Report(const LeaderView& view);

  etcd::EtcdClient& client_;
  FrameWriter& writer_;
  const StandbyOptions options_;
  Leadership leadership_;
  std::atomic<bool> is_stopped_ = false;
  TimeMs heard_at_ = 0;  // of the last new beat
  LeaderView reported_;
  mutable std::mutex mutex_;
  RunId refused_{};
  std::string last_error_;
};

}  // namespace fairlock::storage::replicated
