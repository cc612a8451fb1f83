// The lock engine, with all calls for its users. It uses no I/O, clock, threads or randomness.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/api/effects.h"
#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

// A step is one call, with its time and effects; time must not go back. Callers see nothing that is
// overdue: a command first ends what is due on the key that it names, whether or not Advance has
// reached it. A waiting request is answered later, by a Resolution that names its Attachment.
//
// Requests are calls of the engine itself; its parts have the others.
//
// One thread calls an engine and everything in this folder; its owner asserts that. Lock, Unlock,
// Renew, Cancel, Transfer and each grant are O(1), or O(keys) for an MLOCK; for QUEUE and LOCKS,
// see Inspections.
class LockEngine final {
 public:
  explicit LockEngine(const EngineOptions& options) : state_(options), rules_(state_) {}
  LockEngine(const LockEngine&) = delete;
  LockEngine& operator=(const LockEngine&) = delete;

  // A request that must wait returns kQueued; it is linked to `from` and answered later.
  LockResult Lock(const LockRequest& request, Attachment& from, Step step) {
    return rules_.lock_requests.Lock(request, from, step);
  }
  // True: the owner held the lock, and has released it. If no token is given, its place ends too.
  bool Unlock(const UnlockRequest& request, Step step) {
    return rules_.releases.Unlock(request, step);
  }
  // True: the lease now ends the requested time from now.
  bool Renew(const RenewRequest& request, Step step) {
    return rules_.renewals.Renew(request, step);
  }
  WaitStatus Wait(const WaitRequest& request, Attachment& from, Step step) {
    return rules_.watchers.Wait(request, from, step);
  }
  // True: the owner had a place, and has left the queue.
  bool Cancel(const KeyName& key, std::string_view owner, Step step) {
    return rules_.releases.Cancel(key, owner, step);
  }
  TransferResult Transfer(const TransferRequest& request, Step step) {
    return rules_.transfers.Transfer(request, step);
  }
  // Ends the hold of `owner`, or, if no owner is given, all holds, reservations and cooldowns. With
  // a grace, gives notice to the holds, which end by force when it is over; the rest stays.
  BreakResult Break(const KeyName& key, std::optional<std::string_view> owner, Step step,
                    DurationMs grace_ms = 0) {
    if (grace_ms > 0) return rules_.departures.GiveNotice(key, owner, grace_ms, step);
    return rules_.releases.Break(key, owner, step);
  }
  // Grants all keys or none; afterwards each key has its own hold, under the common token.
  LockResult Mlock(const MlockRequest& request, Attachment& from, Step step) {
    return rules_.multi_locks.Lock(request, from, step);
  }
  // True: all leases now end the requested time from now; false: nothing has changed.
  bool Mrenew(const MrenewRequest& request, Step step) {
    return rules_.multi_locks.Renew(request, step);
  }
  // Returns how many holds were released. If no token is given, the owner's places end too.
  std::size_t Munlock(const MunlockRequest& request, Step step) {
    return rules_.multi_locks.Unlock(request, step);
  }
  // The locks as the Redis commands see and change them.
  RedisView& redis() { return rules_.redis_view; }
  // The locks as an operator sees them.
  Inspections& inspection() { return rules_.inspections; }
  const Inspections& inspection() const { return rules_.inspections; }
  // The overrides of LIMIT.
  Limits& limits() { return rules_.limits; }
  // What happens when connections close, and when a grant does not reach its owner.
  Sessions& sessions() { return rules_.sessions; }
  // The channels of NOTIFY.
  Notifications& channels() { return rules_.notifications; }
  // What is refused while memory or disk space is short.
  Bounds& bounds() { return rules_.bounds; }
  // The reason for the last kDeadlock, and how many places and holds all searches have examined.
  const Deadlocks& deadlocks() const { return rules_.deadlocks; }
  // The rows of the state to be stored, and how a restart reads them.
  Snapshots& snapshots() { return rules_.snapshots; }
  const Snapshots& snapshots() const { return rules_.snapshots; }
  Restoration& restoration() { return rules_.restoration; }

  // Ends what is due, that is, what ends in a tick before `now`: at most about `steps_max` timers
  // and the same number of sessions that Detach left. True: more is due, so call it again.
  bool Advance(std::size_t steps_max, Step step) { return rules_.expiry.Advance(steps_max, step); }
  // When to call Advance next; kNever if no deadline is set. May be too early, but never too late.
  TimeMs NextDeadline() const { return rules_.expiry.NextDeadline(); }
  // Makes all calls until EndTransaction one step: queues and watchers are considered at its end,
  // in the state that it leaves, the longest wait first. WAIT is ignored within it, and time stands
  // still: what was due at the beginning has ended, even on a key that is named only later.
  void BeginTransaction(TimeMs now) { rules_.grants.BeginTransaction(now); }
  void EndTransaction(Step step) { rules_.grants.EndTransaction(step); }
  // Lets the times of a hold count from now on: its reply is sent `delay_ms` after the decision.
  void ExtendUnsentLease(const ChangeLog::Name& name, DurationMs delay_ms) {
    rules_.renewals.ExtendUnsentLease(name, delay_ms);
  }
  // How long the place of a SET NX outlives its request; 0: it gets none.
  DurationMs KeepOfValues(std::string_view key) const {
    return rules_.value_places.KeepOfValues(key);
  }
  // Freezes the state for good: nothing ends any more. REQUIRES: no request follows.
  void Freeze() { state_.is_frozen = true; }

  const EngineCounts& counts() const { return state_.counts; }
  std::uint64_t CountLocks(std::uint8_t db) const { return state_.locks_by_db[db]; }
  const LabelTable& labels() const { return state_.labels; }
  ClientTable& clients() { return state_.clients; }
  Token next_token() const { return state_.next_token; }
  bool is_in_transaction() const { return state_.is_in_transaction; }
  // May be changed at any time, except first_token, hash_seed and locks_max.
  EngineOptions& options() { return state_.options; }
  const EngineOptions& options() const { return state_.options; }
  void set_label_rules(std::vector<LabelRule> rules) { state_.label_rules.Set(std::move(rules)); }
  // Sets the log for changes of the stored state; null: they are not logged.
  void set_change_log(ChangeLog* changes) { state_.changes = changes; }
  // The sinks of all events, and of the notices of NOTIFY; null: they are dropped.
  void set_event_sink(EventSink* sink) { rules_.events.set_event_sink(sink); }
  void set_notice_sink(NoticeSink* sink) { rules_.events.set_notice_sink(sink); }
  // Hints for requests that follow soon: first Prefetch, which returns the hash, then PrefetchLock.
  std::uint64_t Prefetch(const KeyName& key) const {
    const std::uint64_t hash = state_.table.HashOf(key);
    state_.table.PrefetchBucket(hash);
    state_.recent.Prefetch(hash);
    return hash;
  }
  void PrefetchLock(std::uint64_t key_hash) const { state_.table.PrefetchLock(key_hash); }
  // O(everything).
  void CheckInvariants() const { rules_.invariants.Check(); }

 private:
  EngineState state_;
  EngineRules rules_;
};

}  // namespace fairlock::engine
