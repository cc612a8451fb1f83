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
  Beat beat;                  // the beat that was seen last; its epoch is 0 if there is none
  bool is_silent = false;     // no new beat for StandbyOptions::silent_ms, although etcd answers
  bool is_this_node = false;  // this standby has taken over
  bool awaits_acceptance = false;  // the value of Standby::AwaitsAcceptance
  // No new beat for Standby::kLostMs, whether or not etcd answers: nobody leads, as far as this
  // standby knows.
  bool is_lost = false;

  friend bool operator==(const LeaderView&, const LeaderView&) = default;
};

struct StandbyOptions {
  LeadershipOptions leadership;
  std::string canary_key;  // a key that only this node writes
  std::chrono::milliseconds look_every{100};
  // The beat is read only when Hear has not received a new one for this long.
  DurationMs trust_ms = 700;
  std::chrono::milliseconds call_timeout{1'000};
  // The time without a new beat after which the leader counts as silent. It must be longer than the
  // time between two beats of an idle leader. LeaderRefused has an effect only while the leader is
  // silent, because a leader that stops closes its port before its last writes.
  DurationMs silent_ms = 700;
  // A clock that also counts while the machine is suspended; called by the thread of
  // AwaitLeadership.
  std::function<TimeMs()> now_ms;
  // Called by that thread when another run leads or hands over, and when the leader becomes silent,
  // is lost, or is heard again. May be null.
  std::function<void(const LeaderView&)> on_leader;
};

// Receives beats from a watch, reads the beat repeatedly while the watch is silent, and takes over
// when the rules of Leadership say so.
class Standby {
 public:
  static constexpr DurationMs kLostMs = 4'000;  // longer than a take-over usually takes

  // The references must outlive the standby. REQUIRES: `writer` has not taken over.
  Standby(etcd::EtcdClient& client, FrameWriter& writer, StandbyOptions options);

  // Blocks until this node leads. Returns kRefused if Stop was called, or if the fleet's log is not
  // complete because an import has not ended. Returns kFailed if etcd permanently refuses the
  // requests, for example because of permissions.
  Status AwaitLeadership();

  // These may be called by any thread:

  // Sets the rank of this node among the standbys. The one with the lowest rank takes over first.
  void set_rank(std::uint32_t rank) { rank_ = rank; }
  void Stop();
  // Call this with each beat that a watch reports. The watch may be late, so a beat that is older
  // than the last one seen has no effect.
  void Hear(const SeenBeat& seen);
  // The beat that was seen last; its epoch is 0 if there is none yet.
  Beat Seen() const;
  // How long ago a new beat arrived, or this standby began to wait for one.
  DurationMs HeardMsAgo() const;
  // Whether the beat has gone back, because etcd was restored from a backup. This node can take
  // over only after an operator has accepted that, on this node or on another one.
  bool AwaitsAcceptance() const { return awaits_acceptance_; }
  void AcceptRestore() { consent_.Ask(); }
  // Call this if this etcd is not the one that the fleet has used: it may have been restored, and
  // an operator must accept that.
  void DoubtEtcd() { is_etcd_doubted_ = true; }
  // Meaningful after the take-over: whether etcd had been restored from a backup.
  bool is_restored() const { return is_restored_; }
  // Call this when that leader's port has refused a connection: the process of that run is gone.
  void LeaderRefused(const RunId& run);
  // The last failure to reach etcd; empty if the last call succeeded.
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
  void NoteLoss();
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
  std::atomic<bool> is_etcd_doubted_ = false;
  struct {
    std::atomic<TimeMs> heard_at = 0;  // when the last new beat arrived
    LeaderView reported;
    TimeMs news_at = 0;  // when the last beat arrived through Hear
  } leader_;             // the leader according to the watch and the reads
  mutable std::mutex mutex_;
  struct {
    std::condition_variable has_urgent;
    std::optional<SeenBeat> beat;
    bool is_urgent = false;  // the leader has handed over
  } news_;                   // what Hear has received
  Beat seen_;
  RunId refused_{};
  std::string last_error_;
};

}  // namespace fairlock::storage::replicated
