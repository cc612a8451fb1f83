// The lock engine, with all calls for its users. It uses no I/O, clock, threads or randomness.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/api/step.h"
#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

// A step is one call, with its time and effects; time must not go back. Callers see nothing that is
// overdue: a command first ends what is due on the key that it names, whether or not Advance has
// reached it. A waiting request is answered later, by a Resolution that names its Attachment.
//
// Loop-confined. Lock, Unlock, Renew, Cancel, Transfer and each grant are O(1), or O(keys) for an
// MLOCK; for QUEUE and LOCKS, see Queue and Scan.
class LockEngine final {
 public:
  explicit LockEngine(const EngineOptions& options);
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
    return rules_.wait_requests.Wait(request, from, step);
  }
  bool Check(const KeyName& key, Token token, Step step) {
    return rules_.inspections.Check(key, token, step);
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
  // The reason for the last kDeadlock, and how many places and holds all searches have examined.
  const Deadlocks& deadlocks() const { return rules_.deadlocks; }
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
  // Ends what is due, that is, what ends in a tick before `now`: at most about `steps_max` timers
  // and the same number of sessions that Detach left. True: more is due, so call it again.
  bool Advance(std::size_t steps_max, Step step);
  // When to call Advance next; kNever if no deadline is set. May be too early, but never too late.
  TimeMs NextDeadline() const { return rules_.expiry.NextDeadline(); }
  // Undoes a grant whose token did not reach its owner, because the connection closed before the
  // whole reply was sent. The place returns as if its connection had closed, or the next waiter is
  // granted. All holds of an MLOCK end, and its place returns if none of them had ended or leaves.
  // False: the hold has ended, or was renewed meanwhile. `key_hash` and `token` are those of the
  // LockResult or Resolution.
  bool UndoGrant(std::uint64_t key_hash, Token token, Step step) {
    return rules_.sessions.UndoGrant(key_hash, token, step);
  }
  // Call this when a connection has closed, after undoing undelivered grants. Its places stay for
  // KEEP or the reconnect grace, its sessions end or run through their grace, its watchers end. At
  // most 1,000 sessions end between two calls of Advance, which ends the others.
  void Detach(Attachment& attachment, Step step) { rules_.sessions.Detach(attachment, step); }
  // Ends every wait of the attachment as if it had timed out, unless its turn has already come.
  void EndWaits(Attachment& attachment, Step step) { rules_.sessions.EndWaits(attachment, step); }
  // OpenChannel: the channel now has a subscriber, so the owners of its absent places are back.
  // CloseChannel: its last subscriber has left, so its places stay for KEEP or for the reconnect
  // grace, and sessions bound to it end or run through their grace; undo grants that reached no
  // subscriber afterwards. O(places of the channel).
  void OpenChannel(std::string_view name, Step step) { rules_.notifications.Open(name, step); }
  void CloseChannel(std::string_view name, Step step) { rules_.notifications.Close(name, step); }
  // False: no hold and no place names the channel, so opening and closing it have no effect.
  bool KnowsChannel(std::string_view name) const { return rules_.notifications.Knows(name); }
  // Makes all calls until EndTransaction one step: queues and watchers are considered at its end,
  // in the state that it leaves, the longest wait first. WAIT is ignored within it, and time stands
  // still: what was due at the beginning has ended, even on a key that is named only later.
  void BeginTransaction(TimeMs now) { rules_.grants.BeginTransaction(now); }
  void EndTransaction(Step step) { rules_.grants.EndTransaction(step); }
  bool is_in_transaction() const { return state_.is_in_transaction; }
  // Adds or restores an override of LIMIT, instead of one with the same pattern; Advance, or the
  // next request that names the key, reconsiders a queue. False: there are too many overrides.
  [[nodiscard]] bool SetLimit(LimitOverride row, TimeMs now) {
    return rules_.limits.Set(std::move(row), now);
  }
  // Returns whether there was such an override.
  bool DropLimit(std::uint8_t db, std::string_view pattern, TimeMs now) {
    return rules_.limits.Drop(db, pattern, now);
  }
  const LimitOverrides& Limits(TimeMs now) { return rules_.limits.Overrides(now); }
  // Drains all keys until then: no new owner is admitted.
  void DelayGrantsUntil(TimeMs end) { rules_.limits.DelayGrantsUntil(end); }
  // Inspection. Each call first ends what is due on the key, so it may have effects.
  std::uint64_t CountHolders(const KeyName& key, Step step) {
    return rules_.inspections.CountHolders(key, step);
  }
  // A number that changes whenever the end of a lease changes while the holders stay the same.
  std::uint64_t LeaseStamp(const KeyName& key, Step step) {
    return rules_.inspections.LeaseStamp(key, step);
  }
  bool IsHeldBy(const KeyName& key, std::string_view owner, Step step) {
    return rules_.inspections.IsHeldBy(key, owner, step);
  }
  // 0: the owner holds the lock; n: its place, beyond 1,000 an upper bound; none: it has neither.
  std::optional<std::uint64_t> Position(const KeyName& key, std::string_view owner, Step step) {
    return rules_.inspections.Position(key, owner, step);
  }
  // Through which the owner's place was requested; null: it has none.
  const ClientIdentity* ClientOfPlace(const KeyName& key, std::string_view owner, Step step) {
    return rules_.inspections.ClientOfPlace(key, owner, step);
  }
  LockInfo Inspect(const KeyName& key, std::size_t holders_max, Step step) {
    return rules_.inspections.Inspect(key, holders_max, step);
  }
  Explanation Explain(const KeyName& key, std::string_view owner, Step step) {
    return rules_.inspections.Explain(key, owner, step);
  }
  // Places `start` .. `start + count - 1`, counted from 0. O(start + count).
  std::vector<PlaceInfo> Queue(const KeyName& key, std::uint64_t start, std::uint64_t count,
                               Step step) {
    return rules_.inspections.Queue(key, start, count, step);
  }
  // Considers about `count` locks from `cursor` on (0 at the beginning), visits those that pass the
  // filter, and returns the next cursor, which is 0 at the end. A lock that exists during the whole
  // walk is considered at least once; with wait_ms_min, this holds only if it has a queue during
  // the whole walk. Does not end what is due.
  std::uint64_t Scan(std::uint64_t cursor, std::size_t count, const LockFilter& filter, TimeMs now,
                     const std::function<void(const LockSummary&)>& visit) const {
    return rules_.inspections.Scan(cursor, count, filter, now, visit);
  }
  // None: no request of that connection waits.
  static std::optional<AwaitedLock> AwaitedBy(const Attachment& attachment) {
    return Inspections::AwaitedBy(attachment);
  }
  const EngineCounts& counts() const { return state_.counts; }
  std::uint64_t CountLocks(std::uint8_t db) const { return state_.locks_by_db[db]; }
  const LabelTable& labels() const { return state_.labels; }
  ClientTable& clients() { return state_.clients; }
  // O(everything).
  void CheckInvariants() const { rules_.invariants.Check(); }
  // Sets the log for changes of the stored state; null: they are not logged.
  void set_change_log(ChangeLog* changes) { state_.changes = changes; }
  // The current row of an item in the change log, to replace its stored row; none: it has ended.
  std::optional<rows::Hold> FindHoldRow(const ChangeLog::Name& name) {
    return rules_.snapshots.FindHoldRow(name);
  }
  std::optional<rows::Place> FindPlaceRow(const ChangeLog::PlaceName& name,
                                          std::string_view owner) {
    return rules_.snapshots.FindPlaceRow(name, owner);
  }
  std::optional<rows::Cooldown> FindCooldownRow(const ChangeLog::Name& name, TimeMs now) {
    return rules_.snapshots.FindCooldownRow(name, now);
  }
  // Visits the rows of about `count` locks; the cursor works as in Scan.
  std::uint64_t ScanRows(std::uint64_t cursor, std::size_t count, const RowDetail& extent,
                         TimeMs now, RowSink& sink) const {
    return rules_.snapshots.ScanRows(cursor, count, extent, now, sink);
  }
  // The same for leases of at least `lease_ms_min` of which another tenth has passed since `then`.
  std::uint64_t ScanLongLeases(std::uint64_t cursor, std::size_t count, DurationMs lease_ms_min,
                               TimeMs then, TimeMs now, RowSink& sink) {
    return rules_.snapshots.ScanLongLeases(cursor, count, lease_ms_min, then, now, sink);
  }
  // Reserves space for that many locks in advance, which is faster than growing the table.
  void ReserveLocks(std::size_t locks) { state_.table.Reserve(locks); }
  // Restores stored state before the first request: for each key, the holds in ascending order of
  // tokens and the places in ascending order of arrival. Emits no events. Sessions and skipped
  // places have at least `restart_grace_ms` to reconnect.
  void Restore(const rows::Hold& hold, DurationMs restart_grace_ms, TimeMs now) {
    rules_.restoration.Restore(hold, restart_grace_ms, now);
  }
  void Restore(const rows::Place& place, DurationMs restart_grace_ms, TimeMs now) {
    rules_.restoration.Restore(place, restart_grace_ms, now);
  }
  void Restore(const rows::Cooldown& cooldown, TimeMs now) {
    rules_.restoration.Restore(cooldown, now);
  }
  // Reserves slots for the places whose turn has come; tokens begin at `first_token`.
  void EndRestore(Token first_token, Step step) {
    rules_.restoration.EndRestore(first_token, step);
  }
  // Lets the times of a hold count from now on: its reply is sent `delay_ms` after the decision.
  void ExtendUnsentLease(const ChangeLog::Name& name, DurationMs delay_ms) {
    rules_.renewals.ExtendUnsentLease(name, delay_ms);
  }
  Token next_token() const { return state_.next_token; }
  // May be changed at any time, except first_token, hash_seed, locks_max and keep_rules.
  EngineOptions& options() { return state_.options; }
  const EngineOptions& options() const { return state_.options; }
  void set_label_rules(std::vector<LabelRule> rules) { state_.label_rules.Set(std::move(rules)); }
  void set_keep_rules(std::vector<KeepRule> rules) {
    state_.options.keep_rules.Set(std::move(rules));
  }
  // How long the place of a SET NX outlives its request; 0: it gets none.
  DurationMs KeepOfValues(std::string_view key) const {
    return rules_.value_places.KeepOfValues(key);
  }
  // While memory or disk space is short, nothing new is granted or queued that would need it.
  void set_short_of_memory(bool is_short) { rules_.bounds.set_short_of_memory(is_short); }
  void set_short_of_space(bool is_short) { rules_.bounds.set_short_of_space(is_short); }
  // While set, no request is refused because of these, or of a bound on locks or claims.
  void set_bounds_lifted(bool are_lifted) { rules_.bounds.set_lifted(are_lifted); }
  // The sinks of all events, and of the notices of NOTIFY; null: they are dropped.
  void set_event_sink(EventSink* sink) { rules_.events.set_event_sink(sink); }
  void set_notice_sink(NoticeSink* sink) { rules_.events.set_notice_sink(sink); }
  // Freezes the state for good: nothing ends any more. REQUIRES: no request follows.
  void Freeze() { state_.is_frozen = true; }
  // Hints for requests that follow soon: first Prefetch, which returns the hash, then PrefetchLock.
  std::uint64_t Prefetch(const KeyName& key) const {
    const std::uint64_t hash = state_.table.HashOf(key);
    state_.table.PrefetchBucket(hash);
    state_.recent.Prefetch(hash);
    return hash;
  }
  void PrefetchLock(std::uint64_t key_hash) const { state_.table.PrefetchLock(key_hash); }

 private:
  EngineState state_;
  EngineRules rules_;
};

}  // namespace fairlock::engine
