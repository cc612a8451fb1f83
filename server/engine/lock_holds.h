// The state of the lock engine, and its holds: how they begin, are bound to connections, cool and
// end, and who is told of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/attachment.h"
#include "server/engine/change_log.h"
#include "server/engine/client_table.h"
#include "server/engine/engine_options.h"
#include "server/engine/event.h"
#include "server/engine/group_table.h"
#include "server/engine/inspection.h"
#include "server/engine/label_rules.h"
#include "server/engine/label_table.h"
#include "server/engine/lock_table.h"
#include "server/engine/notice.h"
#include "server/engine/notify_channel.h"
#include "server/engine/recent_keys.h"
#include "server/engine/requests.h"
#include "server/engine/timer_wheel.h"

namespace fairlock::engine {

// What it does to a lock leaves line and watchers as they are: LockCore looks at them.
// Loop-confined.
class LockHolds {
 public:
  LockHolds(const LockHolds&) = delete;
  LockHolds& operator=(const LockHolds&) = delete;

  const EngineCounts& counts() const { return counts_; }
  // The next grant gets it.
  Token next_token() const { return next_token_; }

  void set_default_lease_ms(DurationMs lease_ms) { options_.default_lease_ms = lease_ms; }
  void set_keep_ms_max(DurationMs keep_ms_max) { options_.keep_ms_max = keep_ms_max; }
  void set_reconnect_grace_ms(DurationMs grace_ms) { options_.reconnect_grace_ms = grace_ms; }
  void set_ends_native_leases(bool does_end) { options_.ends_native_leases = does_end; }
  void set_deadlock_search(std::size_t steps) { options_.deadlock_search = steps; }
  void set_limit_overrides_max(std::size_t count) { options_.limit_overrides_max = count; }
  void set_places_per_key_max(std::uint64_t count) { options_.places_per_key_max = count; }
  void set_claims_per_client_max(std::uint64_t count) { options_.claims_per_client_max = count; }
  // While it is so, nothing is granted or queued that would take memory; what is there goes on.
  void set_short_of_memory(bool is_short);
  // While it is so, there are no new holds and places; all else goes on.
  void set_short_of_space(bool is_short);
  std::uint64_t CountLocks(std::uint8_t db) const { return locks_by_db_[db]; }
  const EngineOptions& options() const { return options_; }
  ClientTable& clients() { return clients_; }
  const LabelTable& labels() const { return labels_; }
  // For what is granted, queued or denied from now on.
  void set_label_rules(std::vector<LabelRule> rules) { label_rules_.Set(std::move(rules)); }
  // For what SET NX is denied from now on.
  void set_keep_rules(std::vector<KeepRule> rules) { options_.keep_rules.Set(std::move(rules)); }
  // How long the place of a SET NX outlives it; 0: it takes none.
  DurationMs KeepOfValues(std::string_view key) const {
    const DurationMs keep_ms = options_.keep_rules.KeepOf(key);
    return std::min(keep_ms, options_.keep_ms_max);
  }
  // Told from now on; null: nobody is.
  void set_event_sink(EventSink* sink) { sink_ = sink; }
  // Told what NOTIFY asks for; null: nobody is.
  void set_notice_sink(NoticeSink* sink) { notice_sink_ = sink; }
  // The state is final. Afterwards no deadline comes, connections and channels that end change
  // nothing, and nothing is emitted; a request is a broken precondition. Irreversible.
  void Freeze() { is_frozen_ = true; }
  // What changes of what is kept is named there from now on; null: nowhere.
  void set_change_log(ChangeLog* changes) { changes_ = changes; }

  // Hints for requests that follow soon: Prefetch brings the key's place in the tables into the
  // cache and returns the key's hash, with which PrefetchLock, a moment later, brings the lock
  // itself.
  std::uint64_t Prefetch(const KeyName& key) const {
    const std::uint64_t hash = table_.HashOf(key);
    table_.PrefetchBucket(hash);
    recent_.Prefetch(hash);
    return hash;
  }
  void PrefetchLock(std::uint64_t key_hash) const { table_.PrefetchLock(key_hash); }

 protected:
  explicit LockHolds(const EngineOptions& options);
  ~LockHolds() = default;

  enum class HoldEnd : std::uint8_t {
    kReleased,
    kExpired,
    kDisconnected,  // its session's connection closed
    kBroken,
    kTransferred,
    kUndone  // its token never reached the owner
  };

  // By HoldEnd.
  static constexpr std::array<EventKind, 6> kEventOfEnd = {
      EventKind::kReleased, EventKind::kExpired,     EventKind::kDisconnected,
      EventKind::kBroken,   EventKind::kTransferred, EventKind::kUndone};

  // Holds (lock_holds.cc).
  Token NextToken();
  Hold* FindHold(LockEntry& lock, std::string_view owner, std::optional<Token> token) const;
  static const Hold* FindToken(const LockEntry& lock, Token token);
  void StartHold(Hold& hold, Token token, TimeMs lease_end, TimeMs now);
  // With SESSION the hold is bound to `to`, if given.
  void AddHold(Claim& claim, Token token, Attachment* to, TimeMs now);
  void EndHold(std::uint64_t hash, LockEntry& lock, Hold& hold, HoldEnd end, TimeMs now);
  void Note(HoldEnd end, RecentKey& recent);
  static TimeMs LeaseEndOf(const Hold& hold);
  void SetLeaseEnd(LockDetail& detail, Claim& hold, TimeMs end);
  void ScheduleMember(LockDetail& detail, TimerNode& node, TimeMs deadline, TimerClass timer_class);
  void Bind(Claim& hold, Attachment& to);
  void Unbind(Claim& hold);
  void Cool(const Claim& claim, HoldEnd end, TimeMs now);
  void EndCooling(CoolingRoom& room);
  // The grant is known to its owner, and can not be undone any more.
  static void Confirm(Claim& hold);
  Claim& MovePlainHoldToClaim(LockEntry& lock);
  DurationMs LeaseOf(const LockRequest& request) const;
  // The label that it gives, or that the rules give its key.
  std::string_view LabelOf(const LockRequest& request, std::string_view key) const {
    return request.label ? *request.label : label_rules_.LabelOf(key);
  }
  Claim& CreateClaim(LockEntry& lock, const LockRequest& request, ClientRef client);
  void ApplyOptions(Claim& claim, const LockRequest& request, ClientRef client);
  void SetClient(Hold& hold, ClientRef client);
  void DestroyClaim(Claim& claim);
  // Frees what the lock no longer needs; true: the lock itself.
  bool Discard(std::uint64_t hash, LockEntry& lock);
  void DiscardAll(LockSpan locks);

  // MLOCK (lock_holds.cc).
  void AddToGroup(Group& group, Claim& claim);
  void DropFromGroup(Claim& claim);
  void StartGroup(Group& group, Token token);  // its claims become holds
  void StopGroup(Group& group);                // and places again

  // What is kept.
  void NoteHold(std::uint64_t hash, const Hold& hold) {
    if (changes_ != nullptr) changes_->holds.push_back({hash, hold.token});
  }
  void NoteHoldEnd(const LockEntry& lock, const Hold& hold) {
    if (changes_ == nullptr || hold.token >= changes_->first_unwritten) return;
    changes_->NoteEnd(ChangeLog::Kind::kHold, hold.token, lock.key().db, lock.key().bytes);
  }

  // Bounds (lock_holds_bounds.cc). Why so many more holds or places of that client may not be;
  // none: they may.
  std::optional<LockStatus> WhyNotMore(ClientRef client, std::size_t claims = 1) const;
  // The same of a lock that is not there yet.
  std::optional<LockStatus> WhyNoNewLock(ClientRef client) const {
    if (counts_.locks < locks_bound_ &&
        clients_.CountClaims(client) < options_.claims_per_client_max) {
      return std::nullopt;
    }
    return WhyNoLockIsMade(client);
  }
  // Of so many that are not there yet, whoever asks.
  std::optional<LockStatus> WhyNoNewLocks(std::size_t locks) const;
  bool IsLineAtBound(const LockEntry& lock, std::uint64_t bound) const;
  // Memory is short, and the repeated request has other or more options to be kept than its hold or
  // place.
  bool BringsTooMuch(const Hold& present, const LockRequest& request) const;
  bool is_short_of_memory() const { return is_short_of_memory_; }
  bool takes_nothing_new() const { return is_short_of_memory_ || is_short_of_space_; }

  // Events (lock_holds_events.cc).
  void Tell(EventKind kind, std::uint64_t hash, const LockEntry& lock, const Hold& hold,
            TimeMs now) {
    if (sink_ != nullptr) TellSink(kind, hash, lock, hold, now);
  }
  void TellSink(EventKind kind, std::uint64_t hash, const LockEntry& lock, const Hold& hold,
                TimeMs now);
  void TellOfClaim(const Claim& claim);
  void TellWithOther(EventKind kind, std::uint64_t hash, const Claim& claim, std::string_view other,
                     TimeMs now);
  // On each of its keys.
  void TellPlace(EventKind kind, Claim& place, TimeMs now, std::string_view other = {});
  void TellQueued(Claim& place, DenialReason reason, TimeMs now);
  // Unless the key still exists for Redis' commands.
  void TellVacated(const LockEntry& lock, Cause cause, TimeMs now);
  // `owner`: who was to hold it; empty: nobody is named.
  void TellRefused(std::uint64_t hash, const LockEntry& lock, std::string_view owner,
                   ClientRef client, TimeMs now);
  LockResult Deny(std::uint64_t hash, const LockEntry& lock, const LockRequest& request,
                  ClientRef client, DenialReason reason, TimeMs now);
  // On the channel of NOTIFY. REQUIRES: it has one.
  void TellOutcome(const Claim& place, const Resolution& resolution, TimeMs now);
  void TellLoss(const Claim& hold, HoldEnd end, TimeMs now);
  static EventKind EventOf(HoldEnd end) { return kEventOfEnd[static_cast<std::size_t>(end)]; }

  EngineOptions options_;
  ChannelTable channels_;  // outlives the claims
  LockTable table_;
  TimerWheel wheel_;
  RecentKeys recent_;
  LabelTable labels_;
  LabelRules label_rules_;
  ClientTable clients_;
  GroupTable held_groups_;
  EngineCounts counts_;
  std::array<std::uint64_t, kDatabases> locks_by_db_{};
  Token next_token_;
  bool is_frozen_ = false;
  ChangeLog* changes_ = nullptr;

 private:
  std::optional<LockStatus> WhyNoLockIsMade(ClientRef client) const;

  std::uint64_t locks_bound_;  // locks_max, 0 while nothing new is taken
  bool is_short_of_memory_ = false;
  bool is_short_of_space_ = false;
  EventSink* sink_ = nullptr;
  NoticeSink* notice_sink_ = nullptr;
  Event told_;  // scratch of TellSink
};

}  // namespace fairlock::engine
