// A second implementation of the locking rules, written straight from their text. The engine is
// compared with it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "server/engine/api/inspection.h"
#include "tests/simulation/call.h"
#include "tests/simulation/model_key.h"
#include "tests/simulation/override_book.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/stuck_requests.h"

namespace fairlock::simulation {

// Slow and simple; shares no code with the engine, only the vocabulary of its interface. Keys
// settle only when a call names them or the simulator asks for it; nothing happens by itself.
//
// A place of an MLOCK is in the list of each of its keys; its changes are applied to all copies.
class ReferenceModel {
 public:
  explicit ReferenceModel(const Setting& setting);

  // Executes any command of a client or an operator.
  void Apply(const Call& call, TimeMs now, Outcome& outcome);
  // The calls up to EndStep form one step: hand-overs happen at its end.
  void BeginStep(TimeMs now);
  void EndStep(TimeMs now, Outcome& outcome);
  void Unblock(int connection, TimeMs now, Outcome& outcome);
  // Undoes a grant whose reply never reached its owner.
  void UndoGrant(Token token, TimeMs now, Outcome& outcome);
  void Disconnect(int connection, TimeMs now, Outcome& outcome);
  // A channel gets its first subscriber, or loses its last one.
  void OpenChannel(int channel, TimeMs now, Outcome& outcome);
  void CloseChannel(int channel, TimeMs now, Outcome& outcome);
  bool IsOpen(int channel) const;
  // Ends overrides of LIMIT whose time is over. The first call of any kind after that time does
  // this.
  void EndOverrides(TimeMs now);
  // Lets the first thing that is due on the key happen; returns false if nothing is due.
  bool HappenNext(int key, TimeMs now, Outcome& outcome);
  // Examines the first of these queues that has not been examined since overrides changed; returns
  // false if there is none.
  bool LookAtUnseen(const std::vector<int>& keys, TimeMs now, Outcome& outcome);
  // The key on which the earliest thing is due; nullopt if nothing is due. Leases that end in the
  // same tick are interchangeable.
  std::optional<int> FirstDueKey(TimeMs now) const;
  // When the next lease or wait ends.
  TimeMs NextDeadline() const;

  RedisSight SeeAsRedis(int key, TimeMs now) const;

  // The events since the previous call.
  std::vector<ToldEvent> TakeTold() { return std::exchange(told_, {}); }

  const ModelKey& key(int index) const { return keys_[static_cast<std::size_t>(index)]; }
  engine::EngineCounts Counts() const;
  std::uint64_t CountLocks(std::uint8_t db) const;

 private:
  using Keys = std::vector<int>;

  void ApplySetting(const Call& call, TimeMs now, Outcome& outcome);
  void NoteLimitChange();

  // Time (reference_model.cc).
  void Settle(Keys keys, TimeMs now, Outcome& outcome);
  void EndWatcher(int key, std::size_t index, Outcome& outcome);
  void EndPlace(const ModelPlace& place, TimeMs now, Outcome& outcome);
  // Starts the cooldown that MINHOLD demands of a hold that has ended.
  void Cool(ModelKey& key, const ModelHold& hold, TimeMs now);
  // Handles the consequences of ended holds or a changed queue: waiting requests are answered and
  // granted, first on this key and then on the noted ones.
  void LookAgain(int key, TimeMs now, Outcome& outcome);
  // Returns true if examining the key's queue is deferred to the end of the step.
  bool Defer(int key);
  bool IsDeferred(int key) const;
  void Note(int key);
  void NoteOthers(const Keys& keys, int key);
  void ServeWatchers(int key, Outcome& outcome);
  void ServeLine(int key, TimeMs now, Outcome& outcome);

  // Places and holds, on all keys of an MLOCK (reference_model_places.cc).
  ModelPlace PlaceOf(const Call& call, TimeMs now) const;
  void AddPlace(int key, const ModelPlace& place);
  void RemovePlace(const ModelPlace& place);
  void ChangePlace(const ModelPlace& place);
  void MakeAbsent(const ModelPlace& place, PlaceState state, TimeMs now);
  // The place becomes absent. Returns false if neither KEEP nor a grace period retains it.
  bool LoseRequest(const ModelPlace& place, TimeMs now);
  bool IsBlockedOn(int key, const ModelPlace& place, const Mode& mode) const;
  // The first of the place's keys on which its turn has not come.
  std::optional<int> FindBlocked(const ModelPlace& place, const Mode& mode) const;
  void SetReserved(const ModelPlace& place, bool is_reserved);
  void KeepOrGiveWay(const ModelPlace& earlier, int blocked, TimeMs now, Outcome& outcome);
  Token GiveHolds(const ModelPlace& place, bool was_in_line, TimeMs now);
  Token GrantPlace(const ModelPlace& place, TimeMs now);
  void ConfirmAll(Token token);
  // Why a request cannot be granted.
  engine::DenialReason WhyNot(const ModelKey& key, const Mode& mode) const;

  // LOCK and MLOCK (reference_model_lock.cc).
  void Lock(const Call& call, TimeMs now, Outcome& outcome);
  void Mlock(const Call& call, TimeMs now, Outcome& outcome);
  std::optional<std::size_t> FindOtherStake(const Call& call) const;
  std::optional<std::size_t> FindBlockedKey(const Call& call) const;
  std::optional<std::size_t> FindRefusingLine(const Call& call) const;
  void AskAnew(const Call& call, TimeMs now, Outcome& outcome);
  void ReplaceNewest(int key, const Call& call, TimeMs now, Outcome& outcome);
  void RepeatLock(const Call& call, TimeMs now, Outcome& outcome);
  void ProlongByRepeat(const Call& call, ModelHold& hold, TimeMs now);
  void LockAgainWhileWaiting(const Call& call, TimeMs now, Outcome& outcome);
  bool TakesNothingNew() const { return is_short_of_memory_ || has_no_room_; }
  // Why a connection may not have `count` more holds and places; nullopt if it may.
  std::optional<engine::LockStatus> WhyNotMore(int connection, std::size_t count) const;
  // Whether, while memory is short, the repeated request changes or adds options, compared with its
  // hold or place.
  template <typename Present>
  bool BringsMore(const Call& call, const Present& present) const {
    return is_short_of_memory_ && ((call.meta != kAbsent && call.meta != present.meta) ||
                                   (call.session_grace_ms && !present.session_grace_ms) ||
                                   (call.channel != kAbsent && present.channel == kAbsent));
  }
  void JoinLine(const Call& call, std::size_t blocked, TimeMs now, Outcome& outcome);
  void RefuseDeadlock(const Call& call, std::size_t key, Outcome& outcome);
  void Deny(const Call& call, std::size_t key, engine::DenialReason reason, Outcome& outcome);

  // Whether a requested wait would never end (reference_model_deadlock.cc).
  bool IsDeadlock(const Call& call, const std::vector<ModelPlace>& leaving, TimeMs now) const;
  static std::size_t NumberOf(WaitPicture& picture, const ModelPlace& place);
  std::vector<ModelPlace> PlacesToReplace(const Call& call) const;

  // NOTIFY (reference_model_channels.cc).
  static Answer AnswerTo(const ModelPlace& place, engine::ResolutionKind kind, Token token = 0,
                         int by = kAbsent);
  static void TellLoss(int key, const ModelHold& hold, engine::EventKind kind, Outcome& outcome);
  std::vector<ModelPlace> PlacesOf(int channel, bool are_waiting) const;
  static Keys KeysOf(const std::vector<ModelPlace>& places);
  void WaitAgain(const ModelPlace& place, TimeMs now);
  void ReturnToWait(const ModelPlace& place, TimeMs now, Outcome& outcome);
  void LookAtAll(const Keys& keys, TimeMs now, Outcome& outcome);

  // The events for listeners (reference_model_events.cc).
  void Tell(engine::EventKind kind, int key, const ModelHold& hold, int other = kAbsent);
  // Reports the event on each key of the place; a mark causes no events.
  void TellPlace(engine::EventKind kind, const ModelPlace& place, int other = kAbsent);
  void TellQueued(const ModelPlace& place, engine::DenialReason reason);
  void TellDenied(int key, int owner, engine::DenialReason reason);
  // `owner` is the intended holder; kAbsent if nobody is named.
  void TellLeaving(int key, const ModelHold& hold, Token token_before);
  void TellRefused(int key, int owner);
  ToldEvent EventOf(engine::EventKind kind, int key, int owner, Token token) const;
  ToldEvent EventBesideHolder(engine::EventKind kind, int key, int owner) const;

  // All other commands (reference_model_holds.cc, reference_model_connections.cc).
  void Unlock(int key, const Call& call, TimeMs now, Outcome& outcome);
  void Release(int key, std::size_t index, TimeMs now, Outcome& outcome);
  bool IsRenewable(int key, const Call& call) const;
  void Renew(const Call& call, TimeMs now, Outcome& outcome);
  void Wait(const Call& call, TimeMs now, Outcome& outcome);
  void Cancel(const Call& call, TimeMs now, Outcome& outcome);
  void Transfer(const Call& call, TimeMs now, Outcome& outcome);
  void TransferLease(const Call& call, ModelHold& hold, TimeMs now) const;
  bool EndPlaceOf(int key, int owner, Outcome& outcome);
  void Break(const Call& call, TimeMs now, Outcome& outcome);
  void GiveNotice(const Call& call, TimeMs now, Outcome& outcome);
  static void KeepEnd(const ModelHold& before, ModelHold& hold);
  void LoseSessions(int connection, TimeMs now, Outcome& outcome);
  void LoseSession(int key, std::size_t index, TimeMs now, Outcome& outcome);
  void Look(const Call& call, TimeMs now, Outcome& outcome);
  void Explain(const Call& call, TimeMs now, Outcome& outcome);

  // The Redis way (reference_model_redis.cc).
  void ApplyRedis(const Call& call, TimeMs now, Outcome& outcome);
  bool MayEnd(const ModelKey& key) const;
  bool MayNotEnd(int key) const;  // the key is held, and was taken by LOCK
  void Set(const Call& call, TimeMs now, Outcome& outcome);
  static void SetLease(ModelHold& hold, DurationMs lease_ms, TimeMs now);
  void RenewBySet(const Call& call, ModelHold& hold, TimeMs now);
  void ExpireNow(int key, Token token, TimeMs now, Outcome& outcome);
  void DenySet(const Call& call, int key, engine::DenialReason reason, Outcome& outcome);
  ModelPlace PlaceOfValue(const Call& call, int key, TimeMs now) const;
  std::optional<engine::DenialReason> WhyNotNew(int key, int owner);
  void SetNew(const Call& call, TimeMs now, Outcome& outcome);
  // Returns whether the owner had a place that this has changed.
  bool TakePlaceByValue(const Call& call, engine::DenialReason reason, TimeMs now,
                        Outcome& outcome);
  Token GiveToValue(const Call& call, int key, TimeMs now, Outcome& outcome);
  void SetAllNew(const Call& call, TimeMs now, Outcome& outcome);
  void TakeOver(const Call& call, TimeMs now, Outcome& outcome);
  static void InheritLease(const Call& call, const std::vector<ModelHold>& old, ModelHold& hold,
                           TimeMs now);
  void MakeRoomForOne(int key);
  void GivePlaceUpFor(const Call& call, ModelHold& hold, Outcome& outcome);
  bool ReleaseKey(int key, TimeMs now, Outcome& outcome);
  engine::ExpiryStatus Expire(const Call& call, TimeMs now, Outcome& outcome);
  static bool IsAnyLeaving(const ModelKey& key);
  void Flush(const Call& call, TimeMs now, Outcome& outcome);
  void LookAsRedis(const Call& call, TimeMs now, Outcome& outcome) const;

  ModelKey& At(int key) { return keys_[static_cast<std::size_t>(key)]; }
  const ModelKey& At(int key) const { return keys_[static_cast<std::size_t>(key)]; }
  std::uint64_t CountLocks() const;
  std::uint64_t CountWaiting() const;
  std::uint64_t CountInLine(int key) const;

  const Setting& setting_;
  DurationMs default_lease_ms_;
  DurationMs reconnect_grace_ms_;
  bool is_short_of_memory_ = false;
  bool has_no_room_ = false;
  OverrideBook overrides_;
  std::vector<ModelKey> keys_;
  Keys open_channels_;
  Keys noted_;  // keys whose queues must be examined again
  bool is_in_step_ = false;
  bool is_settling_ = false;
  Keys deferred_;  // keys to be examined at the end of the step
  Token next_token_;
  std::uint64_t next_arrival_ = 1;
  std::uint64_t next_binding_ = 1;
  std::uint64_t next_line_ = 1;
  engine::EngineCounts totals_;  // counts that only increase
  std::vector<ToldEvent> told_;
  TimeMs now_ = 0;  // the time of the latest call
};

}  // namespace fairlock::simulation
