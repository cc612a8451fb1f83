// What a leader does while its home does not confirm that it leads.
#pragma once

#include "server/engine/containers/time.h"
#include "server/persist/state_log.h"

namespace fairlock::persist {

// A leader that is not confirmed may have been replaced, and nobody can renew a lease there. So:
// - From the take-over until the first confirmation, and whenever it is unsure, leases stand still.
// - When that has lasted for some seconds, it acts towards its clients as if another node led: it
//   closes their connections, so that none of them waits here, and they ask elsewhere. It does so
//   again and again, for those that have connected since. Its state stays until etcd decides.
//
// All times are of a clock that does not stand still. Loop-confined.
class Confirmation {
 public:
  // How long it waits before it closes the connections, and between two times. A leader is unsure
  // only after kUnsureAfterMs.
  static constexpr engine::DurationMs kCloseEveryMs = kKeepUnsureMs;

  // Call this when the log begins, and whenever its state changes.
  void See(const StateLogState& state, engine::TimeMs now);

  bool stops_leases() const { return since_ != engine::kNever; }
  // When the connections of all clients must be closed; kNever: not.
  engine::TimeMs close_at() const { return close_at_; }
  // Call this when they are. Returns whether it is the first time since the last confirmation.
  bool NoteClosed(engine::TimeMs now);
  // Whether another node may lead, so that this one must not be called the leader.
  bool is_unsure() const { return is_unsure_ || has_closed_; }
  // How long nothing has been confirmed; 0: everything is.
  engine::DurationMs unconfirmed_ms(engine::TimeMs now) const;

 private:
  engine::TimeMs since_ = engine::kNever;  // about the last confirmation; kNever: it is confirmed
  engine::TimeMs close_at_ = engine::kNever;
  bool is_unsure_ = false;
  bool has_closed_ = false;
};

}  // namespace fairlock::persist
