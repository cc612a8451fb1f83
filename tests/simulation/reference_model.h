// The rules of locking written a second time, straight from the text, to be compared with the
// engine.
#pragma once

#include <cstdint>
#include <vector>

#include "server/engine/inspection.h"
#include "tests/simulation/call.h"
#include "tests/simulation/model_key.h"
#include "tests/simulation/override_book.h"
#include "tests/simulation/setting.h"

namespace fairlock::simulation {

// Slow and plain; shares no code with the engine, only the vocabulary of its interface. Keys settle
// when a call names them or SettleAll does; nothing else happens by itself.
class ReferenceModel {
 public:
  explicit ReferenceModel(const Setting& setting);

  // Any command of a client or an operator.
  void Apply(const Call& call, TimeMs now, Outcome& outcome);
  void Unblock(int connection, TimeMs now, Outcome& outcome);
  // The grant never reached its owner.
  void UndoGrant(int key, Token token, TimeMs now, Outcome& outcome);
  void Disconnect(int connection, TimeMs now, Outcome& outcome);
  // Overrides of LIMIT that are over end at the first call of any kind that comes after it.
  void EndOverrides(TimeMs now);
  // Lets the first thing that is due on the key happen; false: nothing is due.
  bool HappenNext(int key, TimeMs now, Outcome& outcome);
  // When the next lease or wait ends.
  TimeMs NextDeadline() const;

  const ModelKey& key(int index) const { return keys_[static_cast<std::size_t>(index)]; }
  engine::EngineCounts Counts() const;
  std::uint64_t CountLocks(std::uint8_t db) const;

 private:
  void ApplySetting(const Call& call, TimeMs now, Outcome& outcome);
  void NoteLimitChange();
  void Settle(int key, TimeMs now, Outcome& outcome);
  void Lock(const Call& call, TimeMs now, Outcome& outcome);
  void AskAnew(const Call& call, TimeMs now, Outcome& outcome);
  void GrantAtOnce(const Call& call, TimeMs now, Outcome& outcome);
  void ReplaceNewest(const Call& call, TimeMs now, Outcome& outcome);
  void RepeatLock(const Call& call, TimeMs now, Outcome& outcome);
  void ProlongByRepeat(const Call& call, ModelHold& hold, TimeMs now);
  void LockAgainWhileWaiting(const Call& call, TimeMs now, Outcome& outcome);
  void JoinLine(const Call& call, TimeMs now, Outcome& outcome);
  void Deny(const Call& call, engine::DenialReason reason, Outcome& outcome);
  void Unlock(const Call& call, TimeMs now, Outcome& outcome);
  void Renew(const Call& call, TimeMs now, Outcome& outcome);
  void Wait(const Call& call, TimeMs now, Outcome& outcome);
  void Cancel(const Call& call, TimeMs now, Outcome& outcome);
  void Transfer(const Call& call, TimeMs now, Outcome& outcome);
  void TransferLease(const Call& call, ModelHold& hold, TimeMs now) const;
  bool EndPlaceOf(const Call& call, Outcome& outcome);
  void Break(const Call& call, TimeMs now, Outcome& outcome);
  void Look(const Call& call, TimeMs now, Outcome& outcome);
  void Explain(const Call& call, TimeMs now, Outcome& outcome);

  ModelKey& At(const Call& call) { return keys_[static_cast<std::size_t>(call.key)]; }
  ModelPlace PlaceOf(const Call& call, TimeMs now) const;
  void MakeAbsent(ModelPlace& place, PlaceState state, TimeMs now) const;
  // False: nothing keeps the place.
  bool LoseRequest(ModelPlace& place, TimeMs now) const;
  void LoseSessions(int connection, TimeMs now, Outcome& outcome);
  void LoseSession(int key, std::size_t index, TimeMs now, Outcome& outcome);
  // MINHOLD: the room of a hold that has ended.
  void Cool(ModelKey& key, const ModelHold& hold, TimeMs now);
  Token GiveHold(ModelKey& key, const ModelPlace& place, TimeMs now);
  // As at the time-out.
  void EndWatcher(int key, std::size_t index, Outcome& outcome);
  void EndPlace(int key, std::size_t index, TimeMs now, Outcome& outcome);
  // What follows when holds ended or the line changed: waiting requests are answered and granted.
  void LookAgain(int key, TimeMs now, Outcome& outcome);
  void ServeWatchers(int key, Outcome& outcome);
  void ServeLine(int key, TimeMs now, Outcome& outcome);
  // Why a request is not granted that cannot be.
  engine::DenialReason WhyNot(const ModelKey& key, const Mode& mode) const;
  std::uint64_t CountLocks() const;
  std::uint64_t CountWaiting() const;

  const Setting& setting_;
  DurationMs default_lease_ms_;
  DurationMs reconnect_grace_ms_;
  OverrideBook overrides_;
  std::vector<ModelKey> keys_;
  Token next_token_;
  std::uint64_t next_arrival_ = 1;
  std::uint64_t next_binding_ = 1;
  engine::EngineCounts totals_;  // what only grows
};

}  // namespace fairlock::simulation
