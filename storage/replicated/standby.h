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
#include "storage/replicated/restore_consent.h"

namespace fairlock::storage::replicated {

// What a standby knows about the leader.
struct LeaderView {
  Beat beat;                  // the one that was seen last; epoch 0: none
  bool is_silent = false;     // no new beat for StandbyOptions::silent_ms, although etcd answers
  bool is_this_node = false;  // this standby has taken over
  bool awaits_acceptance = false;  // as Standby::AwaitsAcceptance

  friend bool operator==(const LeaderView&, const LeaderView&) = default;
};

struct StandbyOptions {
  LeadershipOptions leadership;
  std::string canary_key;    // a key of this node alone
  std::string accepted_key;  // of what an operator accepted as lost
  std::chrono::milliseconds look_every{100};
  // The beat is read only when Hear has brought no new one for so long.
  DurationMs trust_ms = 700;
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

  // Its place among the nodes that stand by: the first one takes over first.
  void set_rank(std::uint32_t rank) { rank_ = rank; }
  void Stop();
  // A beat that a watch reported. The watch may be late, so an older beat than that seen last has
  // no effect.
  void Hear(const SeenBeat& seen);
  // The beat that was seen last; it does not exist before the first look.
  Beat Seen() const;
  // The register went back, because etcd was restored from a backup. This node takes over when an
  // operator accepts that, at this node or at another one.
  bool AwaitsAcceptance() const { return awaits_acceptance_; }
  void AcceptRestore() { consent_.Ask(); }
  // After the take-over: it was that of a restored register.
  bool is_restored() const { return is_restored_; }
  // The port of this run of a leader refused a connection: its process is gone.
  void LeaderRefused(const RunId& run);
  // The last failure to reach etcd; empty: the last call succeeded.
  std::string LastError() const;

 private:
  Status Look();
  Status LookWhetherAccepted();
  bool TakeNews();
  void See(const SeenBeat& seen);
  void AwaitNews();
  Status WriteCanary();
  Status TakeOver();
  Status Judge(const etcd::Answer& answer);
  void JudgeSilence(const SeenBeat& seen);
  void Report(const LeaderView& view);

  etcd::EtcdClient& client_;
  FrameWriter& writer_;
  const StandbyOptions options_;
  Leadership leadership_;
  RestoreConsent consent_;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<std::uint32_t> rank_ = 0;
  std::atomic<bool> awaits_acceptance_ = false;
  std::atomic<bool> is_restored_ = false;
  struct {
    TimeMs heard_at = 0;  // of the last new beat
    LeaderView reported;
    TimeMs news_at = 0;  // of the last beat that came from Hear
  } leader_;             // as the watch and the reads show it
  mutable std::mutex mutex_;
  struct {
    std::condition_variable has_urgent;
    std::optional<SeenBeat> beat;
    bool is_urgent = false;  // the leader has handed over
  } news_;                   // from Hear
  Beat seen_;
  RunId refused_{};
  std::string last_error_;
};

}  // namespace fairlock::storage::replicated
