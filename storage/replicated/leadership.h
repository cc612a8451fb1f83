// When a standby takes over, and how sure a leader is: rules over the beats that a node sees. They
// only keep the peace. Safety rests on the guard of each write (frame_writer.h), so a take-over at
// a wrong moment costs availability and nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "storage/replicated/beat.h"

namespace fairlock::storage::replicated {

// Of a clock that counts while the machine is suspended. Two machines never compare theirs.
using TimeMs = std::int64_t;
using DurationMs = std::int64_t;
inline constexpr TimeMs kNever = std::numeric_limits<TimeMs>::max();

struct LeadershipOptions {
  std::string node;               // the name of this node
  std::uint32_t rank = 0;         // its place among the members: a standby of a lower rank is first
  DurationMs silence_ms = 1'000;  // without a beat, before a standby doubts the leader
  DurationMs rank_step_ms = 50;   // how much longer each further rank waits
  DurationMs canary_pause_ms = 250;  // between two attempts to write the canary
  DurationMs beat_ms = 500;          // an idle leader writes this often
  DurationMs unsure_ms = 2'000;      // without a confirmation, before a leader is unsure
  // The newest beat that an earlier run of this node saw: an older one means that etcd was
  // restored.
  Beat highest = {};
};

// A standby that hears no beat for `silence_ms` first writes a key of its own, the canary: if etcd
// is down, nobody can beat, and nobody is deposed for it. After a canary that succeeded, the leader
// has `silence_ms` again. A leader that handed over, or whose port refuses connections, is not
// waited for.
//
// It has no I/O and is given the time. Not thread-safe.
class Leadership {
 public:
  enum class Role : std::uint8_t { kStandby, kLeader, kDeposed };
  enum class Action : std::uint8_t {
    kWait,         // until Deadline, or the next event
    kWriteCanary,  // then call CanaryWritten or CanaryFailed
    kTakeOver,  // write the take-over of seen(); then call TookOver, or SeeBeat with what is there
    kBeat,      // as leader: write the beat
  };

  Leadership(LeadershipOptions options, TimeMs now)
      : options_(std::move(options)), highest_(options_.highest), heard_at_(now), canary_at_(now) {}

  Role role() const { return role_; }

  // The beat as a watch or a read has it; also when it has not changed. A beat that does not exist
  // is one of a new fleet.
  void SeeBeat(const SeenBeat& seen, TimeMs now);
  void CanaryWritten(TimeMs now);
  void CanaryFailed(TimeMs now);
  // The leader's machine answers that no process listens on the leader's port.
  void LeaderRefused(TimeMs now);
  const SeenBeat& seen() const { return seen_; }
  void set_rank(std::uint32_t rank) { options_.rank = rank; }
  // The register went back: etcd was restored from a backup, or another etcd answers. Nobody takes
  // over until AcceptRestore.
  bool has_gone_back() const { return has_gone_back_; }
  const Beat& highest() const { return highest_; }
  void AcceptRestore(TimeMs now);

  void TookOver(const SeenBeat& own, TimeMs now);
  // A write of this leader that began at that time is committed.
  void Confirm(TimeMs began_at);
  void Depose() { role_ = Role::kDeposed; }
  // A leader whose last confirmation is too old answers no lock command, and lets no lease end.
  bool IsUnsure(TimeMs now) const {
    return role_ != Role::kLeader || now >= confirmed_at_ + options_.unsure_ms;
  }

  Action Next(TimeMs now) const;
  // When Next may return another action although nothing happens.
  TimeMs Deadline(TimeMs now) const;

 private:
  enum class Doubt : std::uint8_t {
    kNone,  // the leader beats
    kLast,  // the canary succeeded: the leader has a last chance
    kGone,  // the leader is known to be gone
  };

  DurationMs rank_ms() const { return options_.rank * options_.rank_step_ms; }
  TimeMs TakeOverAt() const;
  void Doubts(Doubt doubt, TimeMs now);

  LeadershipOptions options_;
  Role role_ = Role::kStandby;
  SeenBeat seen_;
  Beat highest_;  // the highest epoch and sequence that were ever seen
  Doubt doubt_ = Doubt::kNone;
  bool has_seen_ = false;
  bool has_gone_back_ = false;
  TimeMs heard_at_;  // of the last beat that was new; with a doubt: since when that stands
  TimeMs canary_at_;
  TimeMs confirmed_at_ = 0;
};

}  // namespace fairlock::storage::replicated
