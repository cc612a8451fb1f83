// The rules by which a standby decides to take over, based on the beats that it sees. They only
// prevent unnecessary take-overs. Safety rests on the guard of each write (frame_writer.h), so a
// take-over at the wrong moment costs only availability. The leader's rules are in
// server/persist/state_log.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "storage/replicated/beat.h"

namespace fairlock::storage::replicated {

// Milliseconds of a clock that also counts while the machine is suspended. Times of two machines
// are never compared.
using TimeMs = std::int64_t;
using DurationMs = std::int64_t;
inline constexpr TimeMs kNever = std::numeric_limits<TimeMs>::max();

struct LeadershipOptions {
  std::string node;               // the name of this node
  std::uint32_t rank = 0;         // the standby with the lowest rank takes over first
  DurationMs silence_ms = 1'000;  // the time without a beat after which a standby doubts the leader
  DurationMs rank_step_ms = 50;   // the additional time that a standby waits for each rank
  // How long the other standbys wait for the one that a leader has handed over to.
  DurationMs successor_ms = 250;
  DurationMs canary_pause_ms = 250;  // the pause between two attempts to write the canary
  // The newest beat that an earlier run of this node saw. If the beat in etcd is older, etcd was
  // restored from a backup.
  Beat highest = {};
};

// A standby that hears no beat for `silence_ms` first writes a key of its own, the canary. This
// shows whether etcd works: if it is down, no leader can beat, so none is deposed for not beating.
// After the canary was written, the leader has another `silence_ms`. The standby does not wait for
// a leader that has handed over, or whose port refuses connections. If the leader has named another
// node as its successor, the standby waits for that node, but only for `successor_ms`.
//
// It uses no I/O and no clock: callers pass the time. Not thread-safe.
class Leadership {
 public:
  enum class Action : std::uint8_t {
    kWait,         // wait until Deadline, or the next event
    kWriteCanary,  // write the canary; then call CanaryWritten or CanaryFailed
    kTakeOver,     // take over from seen(); then call TookOver, or SeeBeat with the beat in etcd
  };

  Leadership(LeadershipOptions options, TimeMs now)
      : options_(std::move(options)), highest_(options_.highest), heard_at_(now), canary_at_(now) {}

  // Whether this node has taken over. From then on there is nothing to decide here.
  bool leads() const { return leads_; }

  // Call this with the beat that a watch or a read has found, even if it has not changed. A beat
  // that does not exist means that the fleet is new.
  void SeeBeat(const SeenBeat& seen, TimeMs now);
  void CanaryWritten(TimeMs now);
  void CanaryFailed(TimeMs now);
  // Call this when the leader's machine reports that no process listens on the leader's port.
  void LeaderRefused(TimeMs now);
  const SeenBeat& seen() const { return seen_; }
  void set_rank(std::uint32_t rank) { options_.rank = rank; }
  // Whether the beat has gone back, because etcd was restored from a backup, or a different etcd
  // answers. This node does not take over until AcceptRestore.
  bool has_gone_back() const { return has_gone_back_; }
  const Beat& highest() const { return highest_; }
  // Call this if there is another sign of a restore, and everything up to this epoch may be lost.
  void NoteRestore(std::uint64_t epoch);
  void AcceptRestore(TimeMs now);

  void TookOver(const SeenBeat& own);

  Action Next(TimeMs now) const;
  // When Next may return another action even if nothing happens.
  TimeMs Deadline(TimeMs now) const;

 private:
  enum class Doubt : std::uint8_t {
    kNone,  // the leader beats
    kLast,  // the canary was written: the leader has one last period in which to beat
    kGone,  // the leader is known to be gone
  };

  DurationMs rank_ms() const { return options_.rank * options_.rank_step_ms; }
  DurationMs SuccessorMs() const;
  bool CanTakeOver() const;
  TimeMs TakeOverAt() const;
  void Doubts(Doubt doubt, TimeMs now);

  LeadershipOptions options_;
  SeenBeat seen_;
  Beat highest_;  // the beat with the highest epoch and sequence ever seen
  Doubt doubt_ = Doubt::kNone;
  bool leads_ = false;
  bool has_seen_ = false;
  bool has_gone_back_ = false;
  TimeMs heard_at_;  // when the last new beat arrived or, with a doubt, when the doubt began
  TimeMs canary_at_;
};

}  // namespace fairlock::storage::replicated
